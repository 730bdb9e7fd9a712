import shares

shares.chain(40_000_000)
