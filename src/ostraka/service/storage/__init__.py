"""What a service keeps, and where: the only SQL of the service.

module          what
tables          what is kept, and which changes are refused
database        the connection: SQLite in the data folder, or PostgreSQL
migrations      how tables come to be, and change from version to version (Alembic)
ledger          the library's accounts in this database
contributions   writing many at once, reading them one by one
blobs           large files: polls and releases, under their digests (fsspec)
"""
