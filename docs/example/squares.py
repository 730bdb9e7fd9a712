from cyprof.bench import setup, variant


@setup
def numbers():
    return list(range(20_000))


@variant
def multiply(numbers):
    return [n * n for n in numbers]


@variant
def power(numbers):
    return [n**2 for n in numbers]
