import including

print(including.drive(30))
