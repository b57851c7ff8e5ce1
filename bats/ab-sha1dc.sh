#!/bin/bash
# ab-sha1dc.sh - the kernels of collision-detecting SHA-1 beside the reference and libcrypto; needs git's source package for the reference
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
if ! make -s "$BUILD/bench/sha1dc" BUILD="$BUILD" >/dev/null; then
	echo 'collision-detecting SHA-1: not measured, since the reference could not be fetched or built'
	exit 0
fi
exec "$BUILD/bench/sha1dc" "$@"
