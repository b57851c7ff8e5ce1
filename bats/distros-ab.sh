#!/bin/bash
# distros-ab.sh - times the git and openssl of Debian's releases, stock against preloaded: distros-ab.sh [-n RUNS] [SUITE...]
# After `make check-distros`, whose releases and libraries it takes. `openssl dgst` also with the processor's SHA instructions masked off.
# shellcheck source=bats/ab-lib.bash
. "$(dirname "$0")/ab-lib.bash"

# A mount namespace of its own, in which every release has what it needs.
if [ -z "${DISTROS_NAMESPACE-}" ]; then
	rm -rf "$AB_DIR"
	namespace=(unshare --mount)
	[ "$(id -u)" = 0 ] || namespace+=(--map-root-user)
	DISTROS_NAMESPACE=1 exec "${namespace[@]}" "$0" "$@"
fi
ab_begin "$@"
only=$AB_ONLY
repo=$("$ROOT/bats/make-repo.sh" sha1) || exit 1
big=$(ab_big)
export TMPDIR=$AB_DIR # the reports' place, seen by the releases as well

for suite in bullseye bookworm trixie sid experimental; do
	root=$BUILD/distros/$suite/root
	AB_ONLY=$only
	{ [ -d "$root" ] && ab_wanted "$suite"; } || continue
	mount --rbind /dev "$root/dev" && mount --rbind /proc "$root/proc" || exit 1
	for folder in "$BUILD" "$AB_DIR"; do
		mkdir -p "$root$folder" && mount --bind "$folder" "$root$folder" || exit 1
	done
	# The command takes the library beside it: the release's own.
	cp "$BUILD/fastsha" "$BUILD/distros/$suite/fastsha/" || exit 1
	AB_ONLY='' AB_COMMAND=$BUILD/distros/$suite/fastsha/fastsha
	AB_DOOR=git ab "$suite fsck" chroot "$root" git -C "$repo" fsck --full
	AB_DOOR=libcrypto ab "$suite dgst" chroot "$root" openssl dgst -sha256 "$big"
	AB_DOOR=libcrypto ab "$suite dgst, no SHA-NI" chroot "$root" env OPENSSL_ia32cap=':~0x20000000' openssl dgst -sha256 "$big"
done
