"""The command line: one file per command, each of them thin: parse, one library call, print."""
