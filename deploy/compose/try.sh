#!/bin/sh
# Tries the image and compose.yaml on a machine with Docker or Podman: builds, starts everything as docs/guides/deploy.md says, replaces
# each process while requests are sent, and stops. Run it as root in a clone; the ports 80 and 443 have to be free. It changes nothing
# in the clone, removes what it started, and ends with 0 only when everything held.
#   COMPOSE     the command of Compose: "docker compose" unless set
#   BELAY_IMAGE an image that is built already; without it, belay:try is built with `docker build`
#   TRY_MORE    a file of Compose with what this machine needs besides
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
compose=${COMPOSE:-docker compose}
folder=$(mktemp -d)
failed=0
load=

check() { # what, a command
  what=$1
  shift
  if "$@" >"$folder/said" 2>&1; then echo "ok      $what"; else
    echo "FAILED  $what: $(tail -n 3 "$folder/said" | tr '\n' ' ')"
    failed=$((failed + 1))
  fi
}
# Without a time limit, Compose would wait forever for a process that ends and is started again and again.
up() { (cd "$folder" && timeout 240 $compose --project-name belay-try $files "$@"); }
clean() {
  touch "$folder/over"
  [ -z "$load" ] || wait "$load" || true
  up down --volumes --timeout 5 >/dev/null 2>&1 || true
  rm -rf "$folder"
}

if [ -z "${BELAY_IMAGE:-}" ]; then
  BELAY_IMAGE=belay:try
  docker build --build-arg REVISION="$(git -C "$source" rev-parse HEAD)" --tag "$BELAY_IMAGE" "$source"
fi
export BELAY_IMAGE BELAY_BASE_URL=https://localhost
mkdir -p "$folder/deploy" "$folder/config"
cp -R "$source/deploy/compose" "$source/deploy/caddy" "$folder/deploy/"
rm -rf "$folder/deploy/compose/secrets"
cp "$source/compose.yaml" "$folder/"
files='--file compose.yaml'
[ -z "${TRY_MORE:-}" ] || { cp "$TRY_MORE" "$folder/more.yaml" && files="$files --file more.yaml"; }
trap clean EXIT
# No request reaches this issuer: only the page where people choose it is opened.
cat >"$folder/config/belay.yaml" <<'YAML'
providers:
  login:
    name: Company account
    provider: oidc
    config: {issuer: "https://id.example.com", client_id: belay, client_secret: "${env:OIDC_CLIENT_SECRET}"}
YAML
echo "OIDC_CLIENT_SECRET='spaces, \$ and &'" >"$folder/config/.env"
chmod 755 "$folder" "$folder/config"
chmod 600 "$folder/config/.env"
sh "$folder/deploy/compose/make-secrets.sh"

inside() { up exec -T "$@"; }
page() {
  curl --silent --show-error --insecure --fail --location --max-time 20 --header 'accept: text/html' \
    --write-out '\n%{http_code} after %{time_total} s' https://localhost/ >"$folder/page" 2>"$folder/page-error"
  grep -q 'Company account' "$folder/page"
}
# The proxy has a certificate a moment after its start.
first_page() { for _ in 1 2 3 4 5 6 7 8 9 10; do ! page || return 0; sleep 1; done; return 1; }
no_program() { inside server-1 sh -c '! command -v npm && ! command -v gcc && ! command -v make'; }
first_process() { inside "$1" sh -c 'tr "\0" " " </proc/1/cmdline | grep -q "^node /app/apps/server/bundle/main.js" && test "$(id -u)" = 10001'; }
read_only() { inside "$1" sh -c 'for each in /x /app/x /etc/belay/x; do ! touch $each 2>/dev/null || exit 1; done'; }
small() { test "$(docker image inspect --format '{{.Size}}' "$BELAY_IMAGE")" -lt 250000000; }
replaced() { up up --detach --no-deps --no-build --wait --force-recreate "$1"; }
ended_with() { test "$(docker inspect --format '{{.State.ExitCode}}' "$(up ps --all --quiet "$1")")" = 0; }
none_lost() { cat "$folder/errors" "$folder/load" 2>/dev/null || true; grep -q '^[1-9][0-9]* served, 0 lost$' "$folder/load"; }

check 'the image has less than 250 MB' small
check 'compose up: everything is healthy' up up --detach --wait --no-build
check 'the page to sign in is served with TLS' first_page
for each in server-1 worker-1; do
  check "$each: node is the first process, as account 10001" first_process $each
  check "$each: nothing can be written" read_only $each
done
check 'the image has no npm and no compiler' no_program
check 'belay validate' inside server-1 belay validate
(
  served=0 lost=0
  while [ ! -e "$folder/over" ]; do
    if page; then served=$((served + 1)); else
      lost=$((lost + 1))
      { tail -n 1 "$folder/page" | cut -c 1-200 && cat "$folder/page-error"; } >>"$folder/errors" || true
      up logs --no-log-prefix --tail 20 proxy 2>&1 | grep 'http.log.error' | tail -n 1 | cut -c 1-200 >>"$folder/errors" || true
    fi
  done
  echo "$served served, $lost lost" >"$folder/load"
) &
load=$!
for each in worker-1 worker-2 server-1 server-2; do check "$each is replaced" replaced $each; done
touch "$folder/over"
wait "$load" || true
load=
check 'no request is lost while they are replaced' none_lost
check 'compose stop' up stop
for each in server-1 server-2 worker-1 worker-2; do check "$each: SIGTERM ends it with 0" ended_with $each; done
echo "$failed failed"
[ "$failed" -eq 0 ]
