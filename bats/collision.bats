#!/usr/bin/env bats
# collision.bats - published SHA-1 collisions fed to the hash functions inside the unmodified git: it dies as it does without the library
# tests/preload_collide.c finds git's hash table for itself and calls the functions that it holds.

load helpers

PRELOAD_TOO=$BUILD/tests/preload_collide.so
MESSAGES=(shattered-1 shattered-2 shambles-1 shambles-2)
PIECES=(1 37 64 1000 1000000)
LEVELS=(generic ssse3 ssse3+sha avx2 avx2+sha avx512 avx512+sha)

# The stock side gets the test library too.
stock() {
	LD_PRELOAD=$PRELOAD_TOO "$@"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export COLLIDE_FILE=$BATS_TEST_TMPDIR/bytes
}

digest_of() {
	case $1 in
	shattered-*) echo f92d74e3874587aaf443d1db961d4e26dde13e9c ;;
	shambles-*) echo 8ac60ba76f1999a1ab70223f225aefdc78d4ddc0 ;;
	esac
}

# dies MESSAGE: git dies of COLLIDE_FILE in its own words, with and without the library, and the git door saw every byte.
dies() {
	rm -f report
	same git --version
	assert_equal "$status" 128
	assert_equal "$(cat stock.err)" "fatal: SHA-1 appears to be part of a collision attack: $(digest_of "$1")"
	assert_served git "$(stat -c %s bytes)"
}

# lives: git does not die of COLLIDE_FILE, and the digest is right.
lives() {
	rm -f report
	same git --version
	assert_equal "$status" 0
	assert_equal "$(cat stock.out)" "$(sha1sum <bytes | cut -d' ' -f1)"
	assert_served git "$(stat -c %s bytes)"
}

@test "collisions are found, whole and in pieces of 1, 37, 64 and 1000 bytes" {
	for message in "${MESSAGES[@]}"; do
		collision "$message" bytes
		for COLLIDE_PIECE in "${PIECES[@]}"; do
			export COLLIDE_PIECE
			dies "$message"
			COLLIDE_END=oid dies "$message"
		done
	done
}

@test "collisions are found at every processor level" {
	for FASTSHA_CPU in "${LEVELS[@]}"; do
		export FASTSHA_CPU
		for message in "${MESSAGES[@]}"; do
			collision "$message" bytes
			for COLLIDE_PIECE in 37 1000000; do
				export COLLIDE_PIECE
				rm -f report
				same git --version
				assert_equal "$status" 128
				assert_equal "$(cat stock.err)" "fatal: SHA-1 appears to be part of a collision attack: $(digest_of "$message")"
			done
		done
	done
}

@test "collisions are found whatever follows them" {
	for message in "${MESSAGES[@]}"; do
		for tail in 1 63 64 65 1000 5000 100000; do
			collision "$message" bytes
			head -c "$tail" /dev/zero >>bytes
			same git --version
			assert_equal "$status" 128
			grep -q '^fatal: SHA-1 appears to be part of a collision attack: ' stock.err
		done
	done
	assert_served git 400000
}

@test "collisions are found when the context is cloned in the middle" {
	for message in "${MESSAGES[@]}"; do
		collision "$message" bytes
		for COLLIDE_CLONE in 1 64 191 192 193 256 260 300; do
			export COLLIDE_CLONE
			same git --version
			assert_equal "$status" 128
			assert_equal "$(cat stock.err)" "fatal: SHA-1 appears to be part of a collision attack: $(digest_of "$message")"
		done
	done
	assert_served git
}

@test "near-collisions, one bit changed, are none: every bit of every message" {
	export COLLIDE_FLIP=all
	for message in "${MESSAGES[@]}"; do
		collision "$message" bytes
		bits=$((8 * $(stat -c %s bytes)))
		rm -f report
		same git --version
		assert_equal "$status" 0
		assert_equal "$(wc -l <stock.out)" $bits
		assert_equal "$(sort -u stock.out | wc -l)" $bits
		assert_served git $((bits * bits / 8))
	done
}

@test "near-collisions in pieces of 1, 37, 64 and 1000 bytes are none" {
	for message in "${MESSAGES[@]}"; do
		for bit in 2 1541 2559; do
			collision "$message" whole
			perl -0777 -pe "vec(\$_, $bit, 1) ^= 1" whole >bytes
			for COLLIDE_PIECE in "${PIECES[@]}"; do
				export COLLIDE_PIECE
				lives
			done
		done
	done
}

@test "the first half of each message is no collision" {
	for message in "${MESSAGES[@]}"; do
		collision "$message" whole
		head -c $(($(stat -c %s whole) / 2)) whole >bytes
		lives
	done
}

@test "a colliding file stored in git is an object like any other" {
	unset COLLIDE_FILE
	collision shattered-1 one
	collision shattered-2 two
	same git hash-object one two
	assert_equal "$status" 0
	assert_equal "$(sort -u stock.out | wc -l)" 2
	assert_served git
}
