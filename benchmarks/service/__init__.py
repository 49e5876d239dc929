"""How fast a coordinator's service takes in what parties send, and whether it keeps its word.

module       what
prepare      polls, parties, signed uploads and their exact sums, before any clock runs
seed         a service that knows these parties, without the joining
processes    `ostraka serve` and the baseline as processes; their memory and processor time
send         many clients in one process, which cost as little as possible
check        afterwards: nothing acknowledged is lost, and sums are exact
baseline     the same over FastAPI and an ORM, as they are mostly used
postgresql   a database server of its own, in a temporary folder
measure      one run: start, send, check, stop
__main__     all of them, side by side, as a table and JSON
"""
