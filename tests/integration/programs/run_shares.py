import shares

shares.chain(10_000_000)
