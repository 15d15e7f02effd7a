#!/bin/sh
# System packages, before anything is compiled (so it cannot be part of xtask: without a linker there is no xtask).
# Usage: packages.sh run|test
# As root: installs what is missing. As anybody else: prints one install line and exits 3.
set -eu

purpose=${1:-test}
missing=

# want PACKAGES TEST...: PACKAGES are missing when TEST fails.
want() {
    packages=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $packages"
}

has_postgres() {
    [ -x "${PG_BIN:-/nonexistent}/postgres" ] && return 0
    for bin in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/bin; do
        [ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] && return 0
    done
    return 1
}

has_chromium() {
    [ -x "${FLEETHOLD_CHROMIUM:-/usr/bin/chromium}" ]
}

want build-essential command -v cc
want pkg-config command -v pkg-config
want libssl-dev pkg-config --exists openssl
want git command -v git
want ca-certificates test -s "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}"
want postgresql has_postgres
want "nodejs npm" sh -c 'command -v node && command -v npm'
if [ "$purpose" = test ]; then
    want chromium has_chromium
    want curl command -v curl
    want python3-venv python3 -c 'import ensurepip, venv'
fi

[ -z "$missing" ] && exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "system packages: installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    # shellcheck disable=SC2086  # one word per package
    exec apt-get install -q -y --no-install-recommends $missing
fi

echo "system packages are missing; install them and run this again:" >&2
if [ "$(id -u)" -eq 0 ]; then
    echo "    (names of Debian)$missing" >&2
else
    echo "    sudo apt-get install --no-install-recommends$missing" >&2
fi
exit 3
