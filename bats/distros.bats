#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031,SC2153 # bats runs every test in a subshell
# distros.bats - the git, libcrypto and coreutils of Debian's releases in a root of their own, and git built as other distributions do
# `make check-distros` runs it. The releases come from this machine's mirror, see distros-root.sh; nothing is installed.

bats_require_minimum_version 1.5.0
load helpers

MESSAGES=(shattered-1 shattered-2 shambles-1 shambles-2)
LEVELS=(generic ssse3 ssse3+sha avx2 avx2+sha avx512 avx512+sha)

setup_file() {
	repository sha1
	repository sha256
	head -c 3000001 /dev/urandom >"$BATS_FILE_TMPDIR/random"
	for message in "${MESSAGES[@]}"; do
		collision "$message" "$BATS_FILE_TMPDIR/$message"
	done
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# in_root SUITE: the commands of the test run in this release, with the library built for its libc.
in_root() {
	namespace=(unshare --mount)
	[ "$(id -u)" = 0 ] || namespace=(unshare --mount --map-root-user)
	"${namespace[@]}" true 2>/dev/null || skip "mount namespaces are not to be had here"
	suite=$1
	if ! root=$("$ROOT/bats/distros-root.sh" "$suite" 2>"$BATS_TEST_TMPDIR/fetch"); then
		[ -z "${CHECK_DISTROS_ALL-}" ] || fail "$(tail -n 1 "$BATS_TEST_TMPDIR/fetch")"
		skip "$(tail -n 1 "$BATS_TEST_TMPDIR/fetch")"
	fi
	mkdir -p "$root$ROOT" "$root$BUILD" "$root$BATS_RUN_TMPDIR"
	LIB=$(library_for "$suite")
}

# library_for SUITE: built against its libc, with this machine's compiler, which would find this machine's libc first.
library_for() {
	local folder=$BUILD/distros/$1/fastsha libs=$BUILD/distros/$1/root/usr/lib/x86_64-linux-gnu
	make -s -C "$ROOT" BUILD="$folder" HOSTCC=gcc CC="gcc --sysroot=$BUILD/distros/$1/root" LDFLAGS="-B$libs -L$libs" TEST_LIBS=-ldl \
		"$folder/libfastsha.so" "$folder/tests/preload_collide.so" "$folder/tests/client_libcrypto" "$folder/tests/client_transcript" \
		>&2 || return
	echo "$folder/libfastsha.so"
}

enter() {
	# shellcheck disable=SC2016 # for the inner shell
	"${namespace[@]}" sh -c 'mount --rbind /dev "$1/dev" && mount --rbind /proc "$1/proc" && for folder in "$2" "$3" "$4"; do
		mount --bind "$folder" "$1$folder" || exit; done; root=$1; shift 4; exec chroot "$root" env -C "$PWD" "$@"' \
		sh "$root" "$ROOT" "$BUILD" "$BATS_RUN_TMPDIR" "$@"
}

stock() {
	enter ${PRELOAD_TOO:+LD_PRELOAD=$PRELOAD_TOO} "$@"
}

shim() {
	enter LD_PRELOAD="$LIB${PRELOAD_TOO:+:$PRELOAD_TOO}" FASTSHA_REPORT="$BATS_TEST_TMPDIR/report" "$@"
}

# fresh CMD...: like same, with a report of this run alone.
fresh() {
	rm -f report
	same "$@"
}

# served WHY [BYTES]: the git door of the process that hashed was open, for this reason.
served() {
	local why
	why=$(door_why git '\/git' | grep -v 'not used$' | sort -u)
	# shellcheck disable=SC2053 # a pattern
	[[ $why == "on: "$1 ]] || fail "git's door: $why, expected $1"
	assert_served git "${2:-1}"
}

# untouched WHY: the git door let everything through, for this reason.
untouched() {
	local why
	why=$(door_why git '\/git' | grep -v 'not used$' | sort -u)
	# shellcheck disable=SC2053 # a pattern
	[[ $why == "off: "$1 ]] || fail "git's door: $why, expected $1"
	assert_equal "$(door_sum git bytes)" 0
}

# Work that writes: objects, indexes, packs, commit graphs and clones, with their names and bytes.
# shellcheck disable=SC2016 # for the inner shell
write_script='
	set -e
	shopt -s globstar dotglob
	"$GIT" init -q . && "$GIT" symbolic-ref HEAD refs/heads/main && "$GIT" config pack.threads 1
	cp "$1"/shim/*.[ch] . && cp "$2" random
	"$GIT" add . && "$GIT" commit -qm one && echo more >>sha.h && "$GIT" commit -qam two
	"$GIT" commit-graph write --reachable && "$GIT" repack -adq && "$GIT" multi-pack-index write && "$GIT" gc -q
	"$GIT" clone -q --bare --no-local . bare.git && "$GIT" -C bare.git fsck --full
	"$GIT" bundle create -q all.bundle main && "$GIT" index-pack -o again.idx .git/objects/pack/*.pack
	"$GIT" rev-parse HEAD HEAD^{tree} && "$GIT" status && "$GIT" diff HEAD^ | "$GIT" patch-id && "$GIT" verify-pack .git/objects/pack/*.pack
	for file in **; do
		case $file in */hooks/* | */index | */config) ;; *) [ ! -f "$file" ] || sha256sum "$file" ;; esac
	done'

# writes [FORMAT]: the same files are written with and without the library.
writes() {
	SIDES=$BATS_TEST_TMPDIR/sides-${1:-sha1}
	mkdir -p "$SIDES/stock" "$SIDES/shim"
	export GIT GIT_DEFAULT_HASH=${1:-sha1}
	fresh bash -c "$write_script" bash "$ROOT" "$BATS_FILE_TMPDIR/random"
	unset SIDES
	[ "$status" = 0 ] || fail "git cannot write: $(tail -n 3 stock.err)"
}

# dies MESSAGE: git, given these bytes, dies in its own words, and the library saw them.
dies() {
	COLLIDE_FILE=$BATS_FILE_TMPDIR/$1 fresh "$GIT" --version
	assert_equal "$status" 128
	assert_regex "$(cat stock.err)" '^fatal: SHA-1 appears to be part of a collision attack: [0-9a-f]{40}$'
	[ -n "${FASTSHA_CPU-}" ] || assert_served git "$(stat -c %s "$BATS_FILE_TMPDIR/$1")"
}

# collisions [unsafe]: through the functions in git's row for SHA-1, at every level; also through its row for files of its own.
collisions() {
	local row message PRELOAD_TOO
	PRELOAD_TOO=$(dirname "$LIB")/tests/preload_collide.so
	for row in '' ${1-}; do
		[ -z "$row" ] || export COLLIDE_ROW=$row
		for message in "${MESSAGES[@]}"; do
			dies "$message"
			COLLIDE_PIECE=37 dies "$message"
			FASTSHA=off COLLIDE_FILE=$BATS_FILE_TMPDIR/$message same "$GIT" --version
		done
	done
	unset COLLIDE_ROW
	for FASTSHA_CPU in "${LEVELS[@]}"; do
		export FASTSHA_CPU
		dies shattered-1
		COLLIDE_PIECE=1000 dies shambles-2
	done
	unset FASTSHA_CPU
}

# git_is VERSION SHAPE UNSAFE: a release's git.
git_is() {
	GIT=git
	assert_regex "$(stock git --version)" "^git version $1"
	grep -qw sha_ni /proc/cpuinfo || skip "this processor has no SHA-NI"

	fresh git -C "$(repository sha1)" fsck --full
	served "hash table shape $2; sha1 by sha1dc*" 50000000
	fresh git -C "$(repository sha256)" fsck --full
	served "hash table shape $2; sha256 by block-sha256" 50000000
	writes
	served "*hash table shape $2; sha1 by sha1dc*$3"
	writes sha256
	served "*hash table shape $2; sha256 by block-sha256"

	FASTSHA=off fresh git -C "$(repository sha1)" fsck --full
	untouched 'closed by FASTSHA'
	for FASTSHA_CPU in "${LEVELS[@]}"; do
		export FASTSHA_CPU
		fresh git hash-object "$BATS_FILE_TMPDIR"/* "$ROOT"/shim/*.c
	done
	unset FASTSHA_CPU
}

# The library built for Debian 12's libc is the one that most people would take elsewhere.
git_with_library_of_bookworm() {
	in_root bookworm
	local other=$LIB
	in_root "$1"
	LIB=$other
	fresh git -C "$(repository sha1)" fsck --full
	served "*; sha1 by sha1dc*" 50000000
	fresh openssl dgst -sha256 "$BATS_FILE_TMPDIR/random"
	assert_served libcrypto 3000000
	fresh sha256sum "$BATS_FILE_TMPDIR/random"
}

# Without the processor's SHA instructions libcrypto has something to gain; with them the same answers are due.
libcrypto_and_coreutils() {
	local algorithm mask
	for mask in '' ':~0x20000000'; do
		[ -z "$mask" ] || export OPENSSL_ia32cap=$mask
		for algorithm in sha1 sha224 sha256 sha384 sha512 sha512-256; do
			fresh openssl dgst "-$algorithm" "$BATS_FILE_TMPDIR"/* "$ROOT"/shim/*.c
			assert_equal "$status" 0
			case $algorithm in sha1 | sha224 | sha256) assert_served libcrypto 3000000 ;; esac
			FASTSHA=off fresh openssl dgst "-$algorithm" "$BATS_FILE_TMPDIR"/*
			assert_equal "$(door_sum libcrypto bytes)" 0
			fresh openssl dgst "-$algorithm" -hmac key "$BATS_FILE_TMPDIR"/*
		done
		for algorithm in sha1 sha224 sha256 sha384 sha512; do
			fresh "${algorithm}sum" "$BATS_FILE_TMPDIR"/* "$ROOT"/shim/*.c
			assert_equal "$status" 0
			# Since Debian 13 coreutils are linked with libcrypto.
			case $suite-$algorithm in trixie-sha1 | trixie-sha2* | sid-sha1 | sid-sha2*) assert_served libcrypto 3000000 ;; esac
		done
	done
	unset OPENSSL_ia32cap
	fresh cmp "$BATS_FILE_TMPDIR/random" "$BATS_FILE_TMPDIR/shattered-1"
	fresh cmp "$BATS_FILE_TMPDIR/random" "$BATS_FILE_TMPDIR/random"
	assert_equal "$status" 0
	fresh sort "$ROOT/shim/git_hooks.c"
	fresh diff "$ROOT/shim/sha1.c" "$ROOT/shim/sha256.c"
	fresh python3 -c 'import hashlib, sys
for name in "sha1", "sha224", "sha256", "sha512":
    print(hashlib.new(name, open(sys.argv[1], "rb").read()).hexdigest())' "$BATS_FILE_TMPDIR/random"
	assert_equal "$status" 0
	assert_served libcrypto 9000000
	assert_regex "$(door_why libcrypto 'python3[^"]*')" 'functions and [0-9]+ (entries of its dispatch tables|of its own references) are ours$'
}

@test "Debian 11: git" { in_root bullseye && git_is 2.30.2 A ''; }
@test "Debian 11: collisions through git" { in_root bullseye && GIT=git && collisions; }
# Random programs over libcrypto's public functions, where it comes late and where it is there from the start; contexts byte by byte.
libcrypto_programs() {
	local library=libcrypto.so.3 clients=${LIB%/*}/tests
	[ "$suite" != bullseye ] || library=libcrypto.so.1.1
	stock "$clients/client_transcript" $library 0 1000 >stock.out
	shim "$clients/client_transcript" $library 0 1000 | cmp - stock.out
	PRELOAD_TOO=$library shim "$clients/client_transcript" $library 0 1000 | cmp - stock.out
	assert_equal "$(grep -c '^program' stock.out)" 1000
	assert_served libcrypto 2000000
	shim "$clients/client_libcrypto" $library 100000
}

@test "Debian 11: libcrypto and coreutils" { in_root bullseye && libcrypto_and_coreutils; }
@test "Debian 11: 1,000 random programs over libcrypto" { in_root bullseye && libcrypto_programs; }

@test "Debian 12: git" { in_root bookworm && git_is 2.39 B ''; }
@test "Debian 12: collisions through git" { in_root bookworm && GIT=git && collisions; }
@test "Debian 12: libcrypto and coreutils" { in_root bookworm && libcrypto_and_coreutils; }
@test "Debian 12: 1,000 random programs over libcrypto" { in_root bookworm && libcrypto_programs; }

@test "Debian 13: git" { in_root trixie && git_is 2.47 C '; unsafe sha1 by sha1dc*'; }
@test "Debian 13: collisions through git" { in_root trixie && GIT=git && collisions unsafe; }
@test "Debian 13: libcrypto and coreutils" { in_root trixie && libcrypto_and_coreutils; }
@test "Debian 13: 1,000 random programs over libcrypto" { in_root trixie && libcrypto_programs; }
@test "Debian 13: the library built for Debian 12" { git_with_library_of_bookworm trixie; }

@test "Debian sid: git" { in_root sid && git_is '2\.' '[DE]' '; unsafe sha1 by sha1dc*'; }
@test "Debian sid: collisions through git" { in_root sid && GIT=git && collisions unsafe; }
@test "Debian sid: libcrypto and coreutils" { in_root sid && libcrypto_and_coreutils; }
@test "Debian sid: 1,000 random programs over libcrypto" { in_root sid && libcrypto_programs; }
@test "Debian sid: the library built for Debian 12" { git_with_library_of_bookworm sid; }

# git's development branch.
@test "Debian experimental: git" { in_root experimental && git_is '2\.' E '; unsafe sha1 by sha1dc*'; }
@test "Debian experimental: collisions through git" { in_root experimental && GIT=git && collisions unsafe; }

# ---- Builds of git as other distributions have it, see distros-git.sh -----------------------------------------------------------------

# built NAME SUITE: GIT is this build, run in this release.
built() {
	in_root "$2"
	if ! folder=$("$ROOT/bats/distros-git.sh" "$1" 2>"$BATS_TEST_TMPDIR/build"); then
		[ -z "${CHECK_DISTROS_ALL-}" ] || fail "$(cat "$BATS_TEST_TMPDIR/build")"
		skip "$(tail -n 1 "$BATS_TEST_TMPDIR/build")"
	fi
	GIT=$folder/git
	export GIT GIT_EXEC_PATH=$folder GIT_TEMPLATE_DIR=$folder/templates/blt
}

# works SERVED_OR_UNTOUCHED WHY [WHY SHA-256 is untouched]: reads and writes alike, and the git door is as expected. FASTSHA=off closes it.
works() {
	local format expected=$2
	for format in sha1 sha256; do
		[ $format = sha1 ] || expected=${3:-"*; sha256 by block-sha256"}
		fresh "$GIT" -C "$(repository $format)" fsck --full
		assert_equal "$status" 0
		if [ $format = sha1 ] && [ "$1" = served ] || [ $format = sha256 ] && [ -z "${3-}" ]; then
			served "$expected" 50000000
		else
			untouched "$expected"
		fi
		writes $format
		FASTSHA=off fresh "$GIT" -C "$(repository $format)" fsck --full
		untouched 'closed by FASTSHA'
	done
}

# Whether the program's constants are where this build is about.
section_flags() {
	readelf -lW "$GIT" | grep -w "$1"
}

@test "SHA-1 and SHA-256 by OpenSSL 1.1's functions: the libcrypto door serves" {
	built openssl bullseye
	works untouched '*unknown context, left alone' '*unknown context, left alone'
	fresh "$GIT" -C "$(repository sha1)" fsck --full
	assert_served libcrypto 50000000
}

@test "SHA-1 and SHA-256 by OpenSSL's EVP on Debian 12: the libcrypto door serves" {
	built evp bookworm
	works untouched '*unknown context, left alone' '*unknown context, left alone'
	assert_served libcrypto 0
	fresh "$GIT" -C "$(repository sha256)" fsck --full
	assert_served libcrypto 50000000
}

@test "SHA-1 and SHA-256 by OpenSSL's EVP on Debian sid, whose libcrypto is linked -Bsymbolic" {
	built evp sid
	works untouched '*unknown context, left alone' '*unknown context, left alone'
	fresh "$GIT" -C "$(repository sha256)" fsck --full
	assert_served libcrypto 50000000
}

@test "unsafe SHA-1 by block-sha1, everything else with collision detection" {
	built unsafe-block sid
	works served '*; sha1 by sha1dc; unsafe sha1 by block-sha1'
	collisions
}

@test "unsafe SHA-1 by OpenSSL's EVP: only that is left alone" {
	built unsafe-evp bookworm
	works served '*; sha1 by sha1dc; unsafe sha1: unknown context, left alone'
	collisions
}

@test "SHA-1 by block-sha1 in a program linked to run at a fixed address" {
	built block-nonpie bullseye
	[[ $(readelf -hW "$GIT") == *EXEC* ]]
	works served '*; sha1 by block-sha1'
}

@test "a program linked to run at a fixed address: the table is among read-only data" {
	built nonpie bullseye
	[[ $(readelf -hW "$GIT") == *EXEC* ]]
	works served '*; sha1 by sha1dc'
	collisions
}

@test "linked without RELRO: the table is among the variables" {
	built norelro bullseye
	[[ $(readelf -lW "$GIT") != *RELRO* ]]
	works served '*; sha1 by sha1dc'
	collisions
}

@test "SHA-1 by an external libsha1detectcoll" {
	built external bookworm
	[[ $(readelf -dW "$GIT") == *libsha1detectcoll* ]]
	works served '*; sha1 by sha1dc'
	collisions
}

@test "link-time optimization" {
	built lto bookworm
	works served '*; sha1 by sha1dc'
	collisions
}

@test "clang -O3" {
	built clang bookworm
	works served '*; sha1 by sha1dc'
	collisions
}

# A server of files, whose port goes to $port: from it git-remote-http fetches objects one by one and hashes them itself.
serve_files() {
	local log=$BATS_TEST_TMPDIR/server.log
	: >"$log" # there before sed looks, whoever is faster
	python3 -u -m http.server --bind 127.0.0.1 --directory "$1" 0 >"$log" 2>&1 3>&- &
	server=$!
	for _ in $(seq 100); do
		port=$(sed -n 's/^Serving HTTP on .* port \([0-9]*\) .*/\1/p' "$log")
		[ -z "$port" ] || return 0
		sleep 0.2
	done
	fail "no server: $(cat "$log")"
}

teardown() {
	[ -z "${server-}" ] || kill "$server"
}

@test "programs with a libgit of their own: git-http-backend, git-remote-http, scalar" {
	local suite at=/usr/lib/git-core tree
	local -x GIT_DIR=$BATS_TEST_TMPDIR/served/r.git
	mkdir -p "$GIT_DIR"
	git init -q --bare
	tree=$(printf '100644 blob %s\tfile\n' "$(git hash-object -w "$ROOT/shim/git_hooks.c")" | git mktree)
	git update-ref refs/heads/main "$(git commit-tree -m one "$tree")"
	git symbolic-ref HEAD refs/heads/main
	git update-server-info
	unset GIT_DIR
	serve_files "$BATS_TEST_TMPDIR/served"

	for suite in bullseye bookworm trixie sid; do
		in_root "$suite"
		for request in info/refs HEAD objects/info/packs; do
			GIT_PROJECT_ROOT=$BATS_TEST_TMPDIR/served REQUEST_METHOD=GET GIT_HTTP_EXPORT_ALL=1 PATH_INFO=/r.git/$request fresh $at/git-http-backend
			[[ $(door_why git git-http-backend) == on* ]]
		done
		SIDES=$BATS_TEST_TMPDIR/clone-$suite
		mkdir -p "$SIDES/stock" "$SIDES/shim"
		# shellcheck disable=SC2016 # for the inner shell
		fresh sh -c 'git clone -q "$1" clone && git -C clone rev-parse HEAD "HEAD^{tree}"' sh "http://127.0.0.1:$port/r.git"
		unset SIDES
		assert_equal "$status" 0
		[[ $(door_why git git-remote-http) == *'; sha1 by sha1dc'* ]]
		[ ! -e "$root/usr/bin/scalar" ] || {
			fresh scalar list
			[[ $(door_why git scalar) == on* ]]
		}
	done
}
