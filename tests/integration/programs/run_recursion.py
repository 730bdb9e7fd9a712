import recursion

recursion.run()
