import sys

import collatz


def digits(number):
    total = 0
    for digit in str(number):
        total += int(digit)
    return total


def main(limit):
    best = collatz.longest(limit)
    check = 0
    for n in range(limit):
        check += digits(n)
    print(f"longest chain: {best} steps, sum of digits: {check}")


main(int(sys.argv[1]) if len(sys.argv) > 1 else 30_000)
