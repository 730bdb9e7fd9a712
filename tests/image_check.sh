#!/bin/sh
# Builds the Docker image where no Docker engine runs, and draws with it. Needs root, buildah and debootstrap (Debian packages).
# The base is a Debian of our own, since no registry of images is asked; the host's certificates are lent to the build.
set -e
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
buildah="buildah --storage-driver vfs --root $work/storage --runroot $work/run"

debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv,python3-dev bookworm "$work/base" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log"; exit 1; }
base=$($buildah from scratch)
$buildah add --quiet "$base" "$work/base" / >/dev/null
$buildah commit --quiet "$base" cyprof-base >/dev/null
rm -rf "$work/base"

$buildah bud --isolation chroot --network host --build-arg BASE=localhost/cyprof-base \
    --volume /etc/ssl/certs:/etc/ssl/certs:ro --tag cyprof .

# As `docker run -v $PWD:/work cyprof graph ...` would, with a copy of the examples in place of the checkout.
mkdir "$work/user"
cp -r examples "$work/user/"
chmod -R a+rwX "$work/user"
container=$($buildah from localhost/cyprof)
$buildah run --isolation chroot --volume "$work/user:/work" "$container" -- \
    cyprof graph examples/train_mnist.py -o graph.png -- --epochs 1
$buildah run --isolation chroot "$container" -- id -un
test -s "$work/user/graph.png"
cp "$work/user/graph.png" "${1:-/dev/null}"
echo "image-check: graph.png drawn in the container"
