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
LIB=/ # each release has its own
ab_begin "$@"
only=$AB_ONLY
repo=$("$ROOT/bats/make-repo.sh" sha1) || exit 1
big=$BUILD/ab-256M
[ -s "$big" ] || perl -e 'srand 7; my $s = pack "L*", map { int rand 2**32 } 1 .. 2**18; print $s x 256' >"$big"

ab_run() {
	local side=$1 start preload=
	shift
	[ "$side" = stock ] || preload=$BUILD/distros/$suite/fastsha/libfastsha.so
	start=$EPOCHREALTIME
	chroot "$root" env LD_PRELOAD="$preload" "$@" >"$AB_DIR/$side.out" 2>"$AB_DIR/$side.err" </dev/null
	code=$?
	microseconds=$((${EPOCHREALTIME/./} - ${start/./}))
}

for suite in bullseye bookworm trixie sid experimental; do
	root=$BUILD/distros/$suite/root
	AB_ONLY=$only
	{ [ -d "$root" ] && ab_wanted "$suite"; } || continue
	mount --rbind /dev "$root/dev" && mount --rbind /proc "$root/proc" || exit 1
	for folder in "$BUILD" "$AB_DIR"; do
		mkdir -p "$root$folder" && mount --bind "$folder" "$root$folder" || exit 1
	done
	AB_ONLY=
	AB_DOOR=git ab "$suite fsck" git -C "$repo" fsck --full
	AB_DOOR=libcrypto ab "$suite dgst" openssl dgst -sha256 "$big"
	AB_DOOR=libcrypto ab "$suite dgst, no SHA-NI" env OPENSSL_ia32cap=':~0x20000000' openssl dgst -sha256 "$big"
done
