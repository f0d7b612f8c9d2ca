#!/bin/sh
# A PostgreSQL in /tmp with the user `airflow`, whose password is the argument, and with the table and the schema that the
# system tests use.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin)
printf '%s' "$1" > /tmp/password
"$bin/initdb" -D /tmp/data -U airflow --pwfile=/tmp/password --auth=scram-sha-256 --no-sync --encoding=UTF8 --locale=C
echo 'host all all all scram-sha-256' >> /tmp/data/pg_hba.conf
printf "CREATE TABLE ab_role (id int PRIMARY KEY, name text);\nINSERT INTO ab_role VALUES (1, 'Admin');\nCREATE SCHEMA postgres;\nALTER DATABASE postgres SET search_path = postgres, public;\n" |
    "$bin/postgres" --single -D /tmp/data postgres
exec "$bin/postgres" -D /tmp/data -p 8000 -c 'listen_addresses=*' -c unix_socket_directories= -c fsync=off
