from cymem.cymem import Pool

pool = Pool()
for _ in range(1000):
    pool.own_pyref(object())
