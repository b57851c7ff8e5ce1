#!/bin/bash
# fetch-sha1dc.sh FOLDER - the reference implementation of collision-detecting SHA-1, from Debian's git source package: FOLDER/reference.o
# The package comes from the mirrors that apt is set up for; nothing outside FOLDER changes.
set -euo pipefail
folder=$(realpath -m "$1")
[ -e "$folder/reference.o" ] && exit 0
"$(dirname "$0")/../scripts/fetch-source.sh" "$folder" git
mkdir -p "$folder/source"
cd "$folder"
tar -xf git_*.orig.tar.* -C source --wildcards '*/sha1dc/*'

cd source/*/sha1dc
flags=(-O2 -DSHA1DC_NO_STANDARD_INCLUDES -include stdint.h -include string.h -include stdlib.h)
for name in sha1 ubc_check; do
	${CC:-cc} "${flags[@]}" -c -o "$folder/$name.o" "$name.c"
done
cd "$folder"
ld -r -o all.o sha1.o ubc_check.o
objcopy --redefine-sym SHA1DCInit=reference_init --redefine-sym SHA1DCUpdate=reference_update --redefine-sym SHA1DCFinal=reference_final \
	--keep-global-symbol=reference_init --keep-global-symbol=reference_update --keep-global-symbol=reference_final all.o reference.o
