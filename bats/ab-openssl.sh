#!/bin/bash
# ab-openssl.sh - users of libcrypto, stock against preloaded, with its own SHA-NI code and with that masked off: ab-openssl.sh [-n RUNS] [NAME...]
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"
ab_begin "$@"

export AB_DOOR=libcrypto
big=$(ab_big)
small=$AB_DIR/small
head -c 1000 "$big" >"$small"

# The bit of SHA-NI in the second word of what libcrypto knows of the processor (OPENSSL_ia32cap(3)).
masked=':~0x20000000'

OPENSSL_ia32cap=$masked ab sha256-masked openssl dgst -sha256 "$big"
OPENSSL_ia32cap=$masked ab sha224-masked openssl dgst -sha224 "$big"
OPENSSL_ia32cap=$masked ab sha1-masked openssl dgst -sha1 "$big"
OPENSSL_ia32cap=$masked ab hmac-sha256-masked openssl dgst -sha256 -hmac key "$big"
ab sha256 openssl dgst -sha256 "$big"
ab sha224 openssl dgst -sha224 "$big"
ab sha1 openssl dgst -sha1 "$big"
ab hmac-sha256 openssl dgst -sha256 -hmac key "$big"
ab sha256-1000-bytes openssl dgst -sha256 "$small"
ab python-hashlib /usr/bin/python3 -c '
import hashlib, sys
h = hashlib.sha256()
with open(sys.argv[1], "rb") as f:
    while piece := f.read(65536):
        h.update(piece)
print(h.hexdigest())' "$big"
