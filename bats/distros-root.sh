#!/bin/bash
# distros-root.sh - unpacks a Debian release's git, openssl, coreutils and what they need, once, and prints the folder
# distros-root.sh SUITE: below build/distros/SUITE; experimental is sid with experimental's git. The mirror is the one that this machine's apt
# uses, or $DISTROS_MIRROR. Nothing is installed on the machine, no maintainer script runs, and no root is needed.
# distros-root.sh --source SUITE PACKAGE: prints the folder with its upstream source, unpacked.
# Where that fails the last line on stderr says why, and nothing is left half done.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
cache=${BUILD:-$here/build}/distros

# What the tests run, a shell for git's helpers, and what a library or a git for this release is linked with.
packages=(git openssl coreutils diffutils bash dash grep sed python3-minimal libc6-dev libssl-dev zlib1g-dev libdeflate-dev)

die() {
	echo "distros-root: $*" >&2
	exit 1
}

mirror() {
	# shellcheck disable=SC2016 # for apt to expand
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null | head -n 1
}

# apt_for SUITE ARGS...: apt-get with a configuration, package lists and a state of its own, in which nothing is installed.
apt_for() {
	local suite=$1 own=$cache/$1/apt
	shift
	apt-get -qq -o Dir::State="$own/state" -o Dir::State::status="$own/status" -o Dir::Cache="$own/cache" \
		-o Dir::Etc::sourcelist="$own/sources.list" -o Dir::Etc::sourceparts="$own/none" \
		-o Dir::Etc::preferences="$own/preferences" -o Dir::Etc::preferencesparts="$own/none" \
		-o APT::Sandbox::User= -o APT::Install-Recommends=false -o Acquire::Retries=2 "$@"
}

# prepare SUITE deb|deb-src: the lists of its packages, or of their sources.
prepare() {
	local suite=$1 own=$cache/$1/apt from=${DISTROS_MIRROR:-$(mirror)} s suites=("$1") preferences=
	if [ "$suite" = experimental ]; then
		suites+=(sid)
		preferences=$'Package: git git-man\nPin: release a=experimental\nPin-Priority: 990'
	fi
	# A fresh machine has no package lists, from which apt would know whose mirror is which.
	[ -n "$from" ] || { apt-get update -qq >/dev/null 2>&1 && from=$(mirror); }
	[ -n "$from" ] || die "this machine's apt knows no Debian mirror; DISTROS_MIRROR can name one"
	mkdir -p "$own/state/lists/partial" "$own/cache/archives/partial" "$own/none"
	: >"$own/status"
	echo "$preferences" >"$own/preferences"
	for s in "${suites[@]}"; do
		echo "$2 [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from $s main"
	done >"$own/sources.list"
	apt_for "$suite" update >"$own/log" 2>&1 || die "$suite cannot be had from this machine's mirror: $(grep '^E:' "$own/log" | head -n 1)"
}

unpack_root() {
	local suite=$1 root=$cache/$1/root deb
	[ -d "$root" ] && return
	prepare "$suite" deb
	apt_for "$suite" -y --download-only install "${packages[@]}" >"$cache/$suite/apt/log" 2>&1 ||
		die "packages of $suite cannot be had: $(grep '^E:' "$cache/$suite/apt/log" | head -n 1)"
	rm -rf "$root.tmp"
	mkdir -p "$root.tmp"/{dev,proc,tmp,root,usr/{bin,sbin,lib,lib64}}
	# Since Debian 12 a package may rely on it; in Debian 11 nothing minds.
	ln -s usr/bin usr/sbin usr/lib usr/lib64 "$root.tmp"
	for deb in "$cache/$suite/apt/cache/archives"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$root.tmp" \
			--exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*'
	done
	ln -sf bash "$root.tmp/usr/bin/sh"
	# The dynamic loader's links, for a linker that looks from outside.
	find "$root.tmp/usr/lib64" "$root.tmp/usr/lib/x86_64-linux-gnu" -maxdepth 1 -type l -lname '/*' | while read -r link; do
		ln -sfr "$root.tmp$(readlink "$link")" "$link"
	done
	rm -rf "$cache/$suite/apt/cache/archives"
	mv "$root.tmp" "$root"
}

unpack_source() {
	local suite=$1 package=$2 folder=$cache/$1/source/$2
	[ -d "$folder" ] && return
	prepare "$suite" deb-src
	rm -rf "$folder.tmp"
	mkdir -p "$folder.tmp/download"
	(cd "$folder.tmp/download" && apt_for "$suite" --download-only --only-source source "$package") >"$cache/$suite/apt/log" 2>&1 ||
		die "the source of $package in $suite cannot be had: $(grep '^E:' "$cache/$suite/apt/log" | head -n 1)"
	tar -xf "$folder.tmp/download"/*.orig.tar.* --strip-components=1 -C "$folder.tmp"
	rm -rf "$folder.tmp/download"
	mv "$folder.tmp" "$folder"
}

for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || die "needs $tool"
done
mkdir -p "$cache"
# Two tests may ask at once: the first one fetches.
exec 9>"$cache/lock"
flock 9
if [ "$1" = --source ]; then
	unpack_source "$2" "$3"
	echo "$cache/$2/source/$3"
else
	unpack_root "$1"
	echo "$cache/$1/root"
fi
