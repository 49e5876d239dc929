"""Run by Alembic: in the transaction of whoever has called `migrate`."""

from alembic import context

from ostraka.service.storage.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
