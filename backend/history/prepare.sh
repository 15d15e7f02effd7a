#!/bin/bash
# Renews what is committed about the queries: /.sqlx (their types, checked against the migrations) and
# backend/history/schema.sql. Needs PostgreSQL's programs ($PG_BIN or /usr/lib/postgresql/*/bin) and nothing running:
# it starts a cluster in a temporary folder and throws it away.
#
# Run it after changing a query or adding a migration: backend/history/prepare.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

bin=${PG_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)}
if [ ! -x "$bin/postgres" ]; then
    echo "prepare.sh: no postgres in '$bin': install PostgreSQL or set PG_BIN" >&2
    exit 3
fi

work=$(mktemp -d /tmp/fleethold-prepare-XXXXXX)
run=()
if [ "$(id -u)" = 0 ]; then
    # PostgreSQL refuses root.
    chown postgres "$work"
    run=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
stop() {
    "${run[@]}" "$bin/pg_ctl" -D "$work/data" -m immediate stop >"$work/stop.log" 2>&1 || cat "$work/stop.log" >&2
    rm -rf "$work"
}
trap stop EXIT

"${run[@]}" "$bin/initdb" -D "$work/data" -U fleethold --auth=trust --encoding=UTF8 --no-locale --no-sync >"$work/initdb.log"
"${run[@]}" "$bin/pg_ctl" -D "$work/data" -l "$work/server.log" -w start \
    -o "-c listen_addresses= -c unix_socket_directories=$work -c fsync=off" >"$work/start.log"

psql() { "$bin/psql" -X -q -v ON_ERROR_STOP=1 -h "$work" -U fleethold -d postgres "$@"; }
for migration in migrations/*.up.sql; do
    psql -f "$migration"
done

# The macros write one file per query; a folder of its own keeps files of removed queries from staying.
mkdir "$work/sqlx"
export DATABASE_URL="postgres://fleethold@localhost/postgres?host=$work" SQLX_OFFLINE=false SQLX_OFFLINE_DIR="$work/sqlx"
touch backend/history/src/lib.rs
cargo check -p fleethold-history
rm -rf .sqlx
cp -r "$work/sqlx" .sqlx
chmod 755 .sqlx
chmod 644 .sqlx/*
unset DATABASE_URL SQLX_OFFLINE SQLX_OFFLINE_DIR

UPDATE_SCHEMA=1 cargo test -p fleethold-history --test schema
git status --short .sqlx backend/history/schema.sql
