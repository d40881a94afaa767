#!/usr/bin/env bash
# Make the certificates that tests of TLS use: an authority, a server on loopback, a client, and a stranger. Good for a hundred years.
set -euo pipefail
cd "$(dirname "$0")"
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>/dev/null
}
signed() { # NAME SUBJECT EXTENSIONS
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -CAcreateserial -days 36500 -extfile <(printf '%s\n' "$3") -out "$1.pem" 2>/dev/null
  rm "$1.csr"
}
authority authority
authority stranger
signed server "/CN=loopback" "subjectAltName=IP:127.0.0.1,DNS:api.test"
signed client "/CN=dev/O=team" "extendedKeyUsage=clientAuth"
openssl ec -in client.key -aes256 -passout pass:secret -out client-encrypted.key 2>/dev/null
rm -f authority.srl authority.key stranger.key
