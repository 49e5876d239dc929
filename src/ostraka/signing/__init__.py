"""Who says so: keys, and signatures that stand beside a file.

    module      what
    keys        Ed25519 keys, and the files that hold them
    signature   a signature of one file, as a small file beside it

A signature says that whoever holds a key has written these very bytes. It says nothing of privacy:
that is the certificate's task, and `verifying` checks both.
"""

from ostraka.signing.keys import PublicKey, SecretKey
from ostraka.signing.signature import Signature

__all__ = ["PublicKey", "SecretKey", "Signature"]
