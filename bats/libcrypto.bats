#!/usr/bin/env bats
# libcrypto.bats - users of libcrypto get the same digests with the library as without it, and it is the library that computed them

load helpers

PYTHON=/usr/bin/python3 # the distribution's: linked with its libcrypto

setup_file() {
	export FILES=$BATS_FILE_TMPDIR/files
	mkdir "$FILES"
	# Contents of period 251, so that no two blocks of 64 bytes near each other are alike.
	perl -e 'my $s = join "", map { chr(($_ * 7 + 3) % 251) } 0 .. 250; print $s x 267366' >"$BATS_FILE_TMPDIR/base"
	local size k
	for size in {0..300}; do head -c "$size" "$BATS_FILE_TMPDIR/base" >"$FILES/$size"; done
	for ((k = 9; k <= 26; k++)); do
		for size in $(((1 << k) - 1)) $((1 << k)) $(((1 << k) + 1)); do
			head -c "$size" "$BATS_FILE_TMPDIR/base" >"$FILES/$size"
		done
	done
	BYTES=$(cat "$FILES"/* | wc -c)
	export BYTES
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# plain: the output of `openssl dgst -r` and of sha*sum --binary as "digest file", sorted.
plain() {
	sed 's/ \*/ /' | sort -k 2
}

@test "openssl dgst is coreutils, sizes 0 to 300 and around every power of two to 64 MiB" {
	for bits in 1 224 256; do
		rm -f report
		shim openssl dgst -r "-sha$bits" "$FILES"/* | plain >openssl.out
		"sha${bits}sum" --binary "$FILES"/* | plain >coreutils.out
		[ "$(wc -l <openssl.out)" = 355 ]
		diff openssl.out coreutils.out
		assert_served libcrypto "$BYTES"
	done
}

@test "openssl dgst -hmac is Python's hmac, on the same sizes" {
	for bits in 1 224 256; do
		rm -f report
		shim openssl dgst -r "-sha$bits" -hmac 'a key' "$FILES"/* | plain >openssl.out
		"$PYTHON" -c '
import hmac, pathlib, sys
for path in sys.argv[2:]:
    print(hmac.new(b"a key", pathlib.Path(path).read_bytes(), sys.argv[1]).hexdigest(), path)
' "sha$bits" "$FILES"/* | plain >python.out
		[ "$(wc -l <openssl.out)" = 355 ]
		diff openssl.out python.out
		assert_served libcrypto "$BYTES"
	done
}

@test "the same with libcrypto's SHA-NI masked off" {
	export OPENSSL_ia32cap=':~0x20000000'
	same openssl dgst -sha256 "$FILES"/{0..300}
	same openssl dgst -sha1 "$FILES"/{0..300}
	assert_served libcrypto 90300
}

@test "contexts are left as libcrypto leaves them, after every call" {
	run "$BUILD/tests/client_libcrypto" libcrypto.so.3
	assert_failure 2 # nothing preloaded: nothing to compare
	shim "$BUILD/tests/client_libcrypto" libcrypto.so.3 "${CHECK_LONG:+50}50000" "$RANDOM"
	assert_served libcrypto
}

# transcripts LIBRARY: random programs, the library given a libcrypto that comes late, and one that is there from the start.
transcripts() {
	local first=$((RANDOM * 1000)) count=${CHECK_LONG:+10}00
	[ "$count" != 00 ] || count=150
	stock "$BUILD/tests/client_transcript" "$1" $first "$count" >stock.out
	shim "$BUILD/tests/client_transcript" "$1" $first "$count" >late.out
	PRELOAD_TOO=$1 shim "$BUILD/tests/client_transcript" "$1" $first "$count" >early.out
	if ! cmp stock.out late.out || ! cmp stock.out early.out; then
		fail "the programs from $first on differ"
	fi
	[ "$(grep -c '^program' stock.out)" = "$count" ]
}

@test "random programs over init, update, final, copies, one-shots, EVP, HMAC, signatures, properties and providers" {
	transcripts libcrypto.so.3
	grep -q '^SHA256 0' stock.out # one-shots that fail, for want of a provider, are among them
	assert_served libcrypto 10000
}

@test "a libcrypto linked -Bsymbolic, which does not call its functions by name: served by its dispatch tables" {
	"${CC:-cc}" -shared -o libcrypto.so.3 -Wl,-Bsymbolic -Wl,-soname,libcrypto.so.3 -Wl,-z,nodelete -Wl,-z,now \
		-Wl,--whole-archive -l:libcrypto.a -Wl,--no-whole-archive
	readelf -d libcrypto.so.3 | grep -q SYMBOLIC
	export LD_LIBRARY_PATH=$PWD
	for mask in '' ':~0x20000000'; do # with SHA-NI, and without
		rm -f report
		for bits in 1 224 256; do
			OPENSSL_ia32cap=$mask same openssl dgst "-sha$bits" "$FILES"/{0..300}
		done
		assert_regex "$(door_why libcrypto openssl | uniq)" \
			'^on: libcrypto.so.3: its exported functions and [0-9]+ entries of its dispatch tables are ours$'
		assert_served libcrypto 135450
	done
	transcripts "$PWD/libcrypto.so.3"
	rm libcrypto.so.3
}

@test "closed by FASTSHA or for want of SHA-NI, libcrypto's own functions answer" {
	stock sha256sum --binary "$FILES/300" | plain >expected
	for setting in FASTSHA=off FASTSHA=-libcrypto FASTSHA=git FASTSHA_CPU=avx512 FASTSHA_CPU=generic; do
		rm -f report
		shim env "$setting" openssl dgst -r -sha256 "$FILES/300" | plain | diff - expected
		[[ $(door_why libcrypto openssl) == "off: "* ]]
		[ "$(door_sum libcrypto calls)" = 0 ]
	done
	rm -f report
	shim env FASTSHA=libcrypto FASTSHA_CPU=generic+sha openssl dgst -r -sha256 "$FILES/300" | plain | diff - expected
	[[ $(door_why libcrypto openssl) == "on: "* ]]
	assert_served libcrypto 300
}

@test "python3, which loads libcrypto late: digests, copies, HMAC, PBKDF2, threads" {
	cat >hashes.py <<-'END'
		import hashlib, hmac, threading
		data = bytes(i * 7 % 251 for i in range(100000))
		for name in ("sha1", "sha224", "sha256", "sha384", "sha512", "sha512_256", "sha3_256", "md5"):
		    for size in (0, 1, 55, 56, 63, 64, 65, 1000, 100000):
		        h = hashlib.new(name, data[:size])
		        c = h.copy()
		        c.update(b"more")
		        print(name, size, h.hexdigest(), c.hexdigest(), h.hexdigest(), hmac.new(data[:size % 200], data[:size], name).hexdigest())
		    print(hashlib.pbkdf2_hmac(name.replace("sha512_256", "sha256"), b"password", b"salt", 1000).hex())
		results = [None] * 8
		def work(i):
		    results[i] = [hashlib.sha256(data[: i * 1000 + j]).hexdigest() for j in range(300)]
		threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
		for t in threads: t.start()
		for t in threads: t.join()
		print(results)
	END
	same "$PYTHON" hashes.py
	[ "$status" = 0 ]
	assert_served libcrypto 8000000
	# libcrypto calls what answers, not the exported functions, which would look up the caller each time.
	assert_regex "$(door_why libcrypto 'python3[^"]*')" 'functions and [0-9]+ of its own references are ours$'
}

@test "a libcrypto that is unloaded and comes again elsewhere" {
	cat >reload.py <<-'END'
		import _ctypes, ctypes, struct, sys
		# libcrypto.so.3 without the mark that it is never unloaded (DF_1_NODELETE), as it is built with no-pinshared
		image = bytearray(open(sys.argv[1], "rb").read())
		headers, = struct.unpack_from("<Q", image, 32)
		for at in range(headers, headers + 56 * struct.unpack_from("<H", image, 56)[0], 56):
		    kind, _, start, _, _, size = struct.unpack_from("<IIQQQQ", image, at)
		    for entry in range(start, start + size if kind == 2 else 0, 16):
		        if struct.unpack_from("<Q", image, entry)[0] == 0x6ffffffb:
		            image[entry + 8] &= ~8
		open("libcrypto.so.3", "wb").write(image)
		everybody = ctypes.CDLL(None)
		everybody.mmap.restype = ctypes.c_void_p
		everybody.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
		places = set()
		for turn in range(3):
		    library = ctypes.CDLL("./libcrypto.so.3", mode=ctypes.RTLD_GLOBAL)
		    spans = [line.split()[0].split("-") for line in open("/proc/self/maps") if "libcrypto.so.3" in line]
		    low, high = int(spans[0][0], 16), int(spans[-1][1], 16)
		    places.add(low)
		    for name in "SHA1", "SHA224", "SHA256", "SHA384", "SHA512":
		        digest = ctypes.create_string_buffer(64)
		        for call in range(3):
		            ctypes.CDLL(None)[name](b"abc", ctypes.c_size_t(3), digest)
		        print(name, digest.raw.hex())
		    _ctypes.dlclose(library._handle)
		    if "libcrypto.so.3" in open("/proc/self/maps").read():
		        sys.exit("still there")
		    everybody.mmap(low, high - low, 0, 0x22, -1, 0) # so that it is elsewhere the next time
		print(len(places))
	END
	same "$PYTHON" reload.py "$(ldd "$(command -v openssl)" | awk '/libcrypto/ { print $3 }')"
	[ "$status" = 0 ]
	[ "$(tail -n 1 stock.out)" = 3 ]
	assert_served libcrypto
}

@test "of two libcryptos each answers its own callers' one-shots" {
	# The first one fails: no provider has the algorithm.
	same "$PYTHON" -c "import ctypes
first = ctypes.CDLL('libcrypto.so.3')
print(first.EVP_set_default_properties(None, b'provider=none'))
print(ctypes.CDLL('$BUILD/tests/preload_second_libcrypto.so').second_reached())"
	[ "$status" = 0 ]
	[ "$(tail -n 1 stock.out)" = 4 ]
}

@test "a plugin's own SHA1_Update is its own, before and after libcrypto is loaded" {
	for imports in 'ctypes' 'ctypes, _hashlib'; do
		shim "$PYTHON" -c "import $imports; print(ctypes.CDLL('$BUILD/tests/preload_own_sha1.so').own_sha1_reached())" >out
		[ "$(cat out)" = 1 ]
	done
	shim "$PYTHON" -c "import ctypes, hashlib
own = ctypes.CDLL('$BUILD/tests/preload_own_sha1.so')
print(hashlib.sha1(b'abc').hexdigest(), own.own_sha1_reached(), hashlib.sha1(b'abc').hexdigest())" >out
	[ "$(cat out)" = 'a9993e364706816aba3e25717850c26c9cd0d89d 1 a9993e364706816aba3e25717850c26c9cd0d89d' ]
	assert_served libcrypto 6
}

# shellcheck disable=SC2016 # Perl's variables
@test "programs with their own SHA code are not concerned" {
	same sha256sum "$FILES"/{0..300}
	same perl -MDigest::SHA=sha1_hex,sha256_hex -e 'print sha1_hex("abc" x $_), " ", sha256_hex("abc" x $_), "\n" for 0 .. 100'
	[ "$(door_sum libcrypto calls)" = 0 ]
}

@test "keys, certificates and a TLS handshake" {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
	same openssl x509 -in cert.pem -noout -fingerprint -sha1 -subject_hash -fingerprint
	same openssl x509 -in cert.pem -noout -fingerprint -sha256
	openssl dgst -sha256 -sign key.pem -out stock.sig "$FILES/65537"
	shim openssl dgst -sha256 -sign key.pem -out shim.sig "$FILES/65537"
	cmp stock.sig shim.sig # PKCS #1 v1.5 signatures are a function of key and digest
	same openssl verify -CAfile cert.pem cert.pem
	assert_served libcrypto 65537

	rm -f report
	local port=$((20000 + RANDOM % 20000))
	shim openssl s_server -quiet -key key.pem -cert cert.pem -accept $port -www -naccept 4 >/dev/null 2>&1 3>&- &
	local server=$! side
	for side in stock shim; do
		for _ in {1..100}; do
			if "$side" openssl s_client -connect localhost:$port -CAfile cert.pem -verify_return_error -tls1_2 \
				-cipher ECDHE-RSA-AES128-SHA256 <<<$'GET / HTTP/1.0\r\n\r' >$side.out 2>$side.err; then
				break
			fi
			sleep 0.05
		done
		grep -q 'Verify return code: 0 (ok)' $side.out
		grep -q 'Cipher    : ECDHE-RSA-AES128-SHA256' $side.out
	done
	assert_served libcrypto 1000
	for side in stock shim; do
		REPORT=$PWD/curl.report "$side" curl -sS --cacert cert.pem --tls-max 1.2 --ciphers ECDHE-RSA-AES128-SHA256 -o $side.html \
			-w '%{http_code} %{ssl_verify_result} %{size_download}\n' "https://localhost:$port/" >$side.out
	done
	kill $server 2>/dev/null || :
	wait $server || :
	diff stock.out shim.out
	grep -q '^200 0 ' stock.out
	REPORT=$PWD/curl.report assert_served libcrypto 1000
}

@test "openssl speed" {
	shim openssl speed -seconds 1 -bytes 64 -evp sha256 >out 2>err
	grep -q '^sha256' out
	assert_served libcrypto 10000000
}

@test "ssh-keygen's fingerprints" {
	command -v ssh-keygen >/dev/null || skip 'ssh-keygen is not installed'
	ssh-keygen -q -t rsa -b 2048 -N '' -C comment -f key
	same ssh-keygen -l -E sha256 -f key.pub
	same ssh-keygen -l -E sha1 -f key.pub
	assert_served libcrypto 100
}
