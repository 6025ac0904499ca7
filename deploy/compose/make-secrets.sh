#!/bin/sh
# Writes the secrets of compose.yaml, each once: a secret that exists is kept. The account of the image (10001) reads
# two of them.
set -eu
# The engine mounts a secret with the owner that its file has here. Docker Desktop, on other systems, lets every account read it.
if [ "$(id -u)" -ne 0 ] && [ "$(uname -s)" = Linux ]; then
  echo 'make-secrets.sh: run it as root (with rootless Podman: podman unshare), so that it can give two of the secrets to account 10001' >&2
  exit 1
fi
cd "$(dirname "$0")"
mkdir -p secrets
chmod 711 secrets
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
[ -s secrets/postgres_password ] || random >secrets/postgres_password
[ -s secrets/belay_secret ] || random >secrets/belay_secret
[ -s secrets/database_url ] ||
  printf 'postgres://belay:%s@postgres:5432/belay' "$(cat secrets/postgres_password)" >secrets/database_url
# Compose mounts the files with their owners and modes: the account of the image can read its own two, and no other
# account can.
chmod 400 secrets/*
[ "$(id -u)" -ne 0 ] || chown 10001:10001 secrets/database_url secrets/belay_secret
