from cymem.cymem import Pool

pool = Pool()
for _ in range(1000):
    pool.alloc(1, 16)
