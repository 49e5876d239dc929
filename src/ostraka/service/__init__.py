"""The coordinator as a service: polls, parties, contributions and releases over HTTP.

Nothing is computed here that the library does not compute: a poll, a contribution, a tally and
`publish` are the same as with files. The service keeps, checks, and answers.

    room        what
    storage     database, files, accounts: the only SQL
    access      who may do what: roles, tokens, codes
    joining     invitations, and who has joined
    polls       the states of a poll
    arrivals    contributions: checked, then written many at once
    closing     from an open poll to its release, once, whatever crashes
    audit       what admins have done
    api         routes, and how errors are answered
    starting    first start, settings, the server process
"""
