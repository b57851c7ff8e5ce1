#!/bin/bash
# distros-git.sh - builds git as other distributions do, from Debian's source packages, once, and prints the folder with git's programs
# distros-git.sh NAME: one of the names in the table below. What decides is compiled anew: the hash functions, their table and every file
# whose code depends on the size of a hash context; the rest is shared among the builds from one source (lto has all of its own).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${BUILD:-$here/../build}/distros

folder=$cache/git/$1
source=bookworm for=bullseye options=() cflags='-O1 -fPIE' ldflags=-pie compiler=gcc whole=
case $1 in
base-bookworm | base-sid) whole=1 ;;
openssl) options=(OPENSSL_SHA1=1 OPENSSL_SHA256=1) ;;
block-nonpie) options=(BLK_SHA1=1) cflags='-O1 -fno-pie' ldflags=-no-pie ;;
nonpie) cflags='-O1 -fno-pie' ldflags=-no-pie ;;
norelro) ldflags='-pie -Wl,-z,norelro' ;;
external) options=(DC_SHA1_EXTERNAL=1) ldflags="-pie -L. -Wl,-rpath,$folder" ;;
lto) cflags='-O2 -flto=auto -fPIE' whole=1 options=(AR=gcc-ar) ;;
clang) compiler=clang cflags='-O3 -fPIE' ;;
evp) source=sid options=(OPENSSL_SHA1=1 OPENSSL_SHA256=1) ;;
unsafe-block) source=sid options=(BLK_SHA1_UNSAFE=1) ;;
unsafe-evp) source=sid options=(OPENSSL_SHA1_UNSAFE=1) ;;
*)
	echo "distros-git: no build '$1'" >&2
	exit 1
	;;
esac
[ "$1" != base-sid ] || source=sid
[ $source != sid ] || for=bookworm

if [ -e "$folder/git" ]; then
	echo "$folder"
	exit
fi
root=$("$here/distros-root.sh" $for)
from=$("$here/distros-root.sh" --source $source git)
mkdir -p "$cache/git"
exec 8>"$folder.lock"
flock 8

# gcc would find this machine's libc before the root's.
libs=$root/usr/lib/x86_64-linux-gnu
ldflags+=" -B$libs -L$libs"

rm -rf "$folder.tmp"
if [ $whole ]; then
	cp -a "$from" "$folder.tmp"
	cd "$folder.tmp"
else
	base=$("$here/distros-git.sh" base-$source)
	cp -a "$base" "$folder.tmp"
	cd "$folder.tmp"
	grep -lE 'git_hash_ctx|hashfile|csum-file|git_SHA|platform_SHA|SHA1DC|hash_algos' -r --include='*.c' . | sed 's/c$/o/' | xargs rm -f
	rm -f git scalar git-http-backend libgit.a
	# Not anew because of other options.
	options+=(-o GIT-CFLAGS)
fi
if [ "$1" = external ]; then
	gcc --sysroot="$root" -O2 -fPIC -shared -Wl,-soname,libsha1detectcoll.so.1 -I. -DSHA1DC_NO_STANDARD_INCLUDES \
		-DSHA1DC_CUSTOM_INCLUDE_SHA1_C='"git-compat-util.h"' -DSHA1DC_CUSTOM_INCLUDE_UBC_CHECK_C='"git-compat-util.h"' \
		-o libsha1detectcoll.so.1 sha1dc/sha1.c sha1dc/ubc_check.c
	ln -s libsha1detectcoll.so.1 libsha1detectcoll.so
fi
make -s -j2 CC="$compiler --sysroot=$root" CFLAGS="$cflags" LDFLAGS="$ldflags" NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PERL=1 \
	NO_PYTHON=1 NO_RUST=1 "${options[@]}" git git-http-backend scalar >"$folder.log" 2>&1 || {
	tail -n 5 "$folder.log" >&2
	echo "distros-git: $1 does not build" >&2
	exit 1
}
mv "$folder.tmp" "$folder"
echo "$folder"
