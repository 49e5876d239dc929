"""A service, seen from outside: what the command line uses, and programs may.

module       what
address      addresses of services and of polls in them, as people write them
client       one method for each request; errors as if the library had raised them here
shapes       what a service answers, as values
membership   what somebody has who has joined: kept in a folder, for its owner alone
sending      a contribution on its way: kept until it has arrived, and its receipt afterwards
"""

from ostraka.client.address import PollAddress, read_address
from ostraka.client.client import Client
from ostraka.client.membership import Membership

__all__ = ["Client", "Membership", "PollAddress", "read_address"]
