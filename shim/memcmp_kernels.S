/* memcmp_kernels.S - memcmp and its equality-only form: the exported entries, and a kernel per instruction set */
#include <cet.h>

/*
 * All functions here are
 *	int f(const void *a, const void *b, size_t n)	rdi a, rsi b, rdx n
 * and either "order": the difference a[i] - b[i] of the first bytes that differ, as unsigned char, 0 where none does, the very value that
 * glibc's kernels return; or "equal": 0 where all bytes are equal, anything else where not. None reads a byte outside of
 * [a, a + n) and [b, b + n) but in pages that hold a byte of them; n = 0 reads nothing. Registers: rax rcx rdx rsi rdi r8 r9 and
 * vectors that the caller expects to be overwritten.
 */

/* Offsets in struct memcmp_path. */
#define PATH_WORDS_N 0
#define PATH_AVX512_BELOW 8
#define PATH_ORDER 16
#define PATH_EQUAL 24

	.macro	function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:	_CET_ENDBR
	.endm

	.macro	end name
	.size	\name, . - \name
	.endm

/* Returns a[offset + rcx] - b[offset + rcx]; \b: where b is, by default rsi. */
	.macro	return_difference offset=0, b=%rsi
	movzbl	\offset(%rdi,%rcx), %eax
	movzbl	\offset(\b,%rcx), %ecx
	sub	%ecx, %eax
	ret
	.endm

/* To \label where the \size bytes from a or those from b may reach into another page. Uses eax and ecx. */
	.macro	unless_in_page size, label
	mov	$4096 - \size, %ecx
	andn	%ecx, %edi, %eax
	jz	\label
	andn	%ecx, %esi, %eax
	jz	\label
	.endm

	.text

/* The difference of two words, rax of a and rcx of b, that are not equal: of their lowest bytes that differ. */
	.balign	32
words_differ:
	mov	%rcx, %rdx
	xor	%rax, %rcx
	tzcnt	%rcx, %rcx		/* bsf on processors without it: the same, as rcx is not 0 */
	and	$0x38, %ecx
	shr	%cl, %rax
	shr	%cl, %rdx
	movzbl	%al, %eax
	movzbl	%dl, %edx
	sub	%edx, %eax
	ret

differ:	mov	$1, %eax
	ret

/* ---- SSE2: every processor ------------------------------------------------------------------------------- */

/* 16 bytes at \offset from a and b: eax 0 where equal, else its lowest set bit is the number of the first byte that differs. */
	.macro	sse2_16 offset=0, index=
	.ifb	\index
	movdqu	\offset(%rdi), %xmm0
	movdqu	\offset(%rsi), %xmm1
	.else
	movdqu	\offset(%rdi,\index), %xmm0
	movdqu	\offset(%rsi,\index), %xmm1
	.endif
	pcmpeqb	%xmm1, %xmm0
	pmovmskb %xmm0, %eax
	sub	$0xffff, %eax
	.endm

/* 64 bytes at a and rsi + a: xmm0-xmm3 what pcmpeqb says of each 16; eax 0 where all are equal. \load: of a, movdqa or movdqu. */
	.macro	sse2_64 load
	movdqu	(%rsi,%rdi), %xmm0
	movdqu	16(%rsi,%rdi), %xmm1
	movdqu	32(%rsi,%rdi), %xmm2
	movdqu	48(%rsi,%rdi), %xmm3
	\load	(%rdi), %xmm4
	\load	16(%rdi), %xmm5
	\load	32(%rdi), %xmm6
	\load	48(%rdi), %xmm7
	pcmpeqb	%xmm4, %xmm0
	pcmpeqb	%xmm5, %xmm1
	pcmpeqb	%xmm6, %xmm2
	pcmpeqb	%xmm7, %xmm3
	movdqa	%xmm0, %xmm4
	pand	%xmm1, %xmm4
	movdqa	%xmm2, %xmm5
	pand	%xmm3, %xmm5
	pand	%xmm5, %xmm4
	pmovmskb %xmm4, %eax
	sub	$0xffff, %eax
	.endm

	.macro	sse2_kernel name, order
	function \name
	cmp	$16, %rdx
	ja	.L17_\name
	cmp	$8, %edx
	jb	1f
	mov	(%rdi), %rax		/* 8 to 16: two words that may overlap */
	mov	(%rsi), %rcx
	cmp	%rcx, %rax
	jne	.Lwords_\name
	mov	-8(%rdi,%rdx), %rax
	mov	-8(%rsi,%rdx), %rcx
	cmp	%rcx, %rax
	jne	.Lwords_\name
	xor	%eax, %eax
	ret
1:	cmp	$4, %edx
	jb	2f
	mov	(%rdi), %eax		/* 4 to 7 */
	mov	(%rsi), %ecx
	cmp	%ecx, %eax
	jne	.Lwords_\name
	mov	-4(%rdi,%rdx), %eax
	mov	-4(%rsi,%rdx), %ecx
	cmp	%ecx, %eax
	jne	.Lwords_\name
	xor	%eax, %eax
	ret
2:	mov	%edx, %eax
	test	%edx, %edx
	jz	3f
	movzbl	(%rdi), %eax		/* 1 to 3: the first, the middle and the last byte */
	movzbl	(%rsi), %ecx
	sub	%ecx, %eax
	jne	3f
	mov	%edx, %r8d
	shr	%r8d
	movzbl	(%rdi,%r8), %eax
	movzbl	(%rsi,%r8), %ecx
	sub	%ecx, %eax
	jne	3f
	movzbl	-1(%rdi,%rdx), %eax
	movzbl	-1(%rsi,%rdx), %ecx
	sub	%ecx, %eax
3:	ret

	.balign	32
.L17_\name:
	sse2_16
	jnz	.Lin16_\name
	cmp	$32, %rdx
	jbe	.Llast16_\name
	sse2_16	16
	jnz	.Lin32_\name
	cmp	$64, %rdx
	ja	.L65_\name
	sse2_16	-32, %rdx
	jnz	.Linlast32_\name
.Llast16_\name:
	sse2_16	-16, %rdx
	jnz	.Linlast16_\name
	ret

	.balign	32
.L65_\name:				/* r8 the last 64 bytes of a; rsi b - a; rdi the next bytes of a, aligned */
	lea	-64(%rdi,%rdx), %r8
	sub	%rdi, %rsi
	add	$32, %rdi
	and	$-16, %rdi
	cmp	%r8, %rdi
	jae	2f
	.balign	32
1:	sse2_64	movdqa
	jnz	.Lin64_\name
	add	$64, %rdi
	cmp	%r8, %rdi
	jb	1b
2:	mov	%r8, %rdi
	sse2_64	movdqu
	jnz	.Lin64_\name
	ret

	.if	\order
	.set	.Lwords_\name, words_differ
	.balign	16
.Linlast32_\name:
	sub	$16, %rdx
.Linlast16_\name:
	tzcnt	%eax, %ecx
	add	%rdx, %rcx
	return_difference -16
.Lin32_\name:
	add	$16, %rdi
	add	$16, %rsi
.Lin16_\name:
	tzcnt	%eax, %ecx
	return_difference
.Lin64_\name:				/* xmm0-xmm3 compared; one mask of 64 bits, and its first 0 */
	pmovmskb %xmm0, %eax
	pmovmskb %xmm1, %ecx
	shl	$16, %ecx
	or	%ecx, %eax
	pmovmskb %xmm2, %ecx
	pmovmskb %xmm3, %edx
	shl	$16, %edx
	or	%edx, %ecx
	shl	$32, %rcx
	or	%rcx, %rax
	not	%rax
	tzcnt	%rax, %rcx
	add	%rdi, %rsi
	return_difference
	.else
	.set	.Lwords_\name, differ
	.set	.Linlast32_\name, differ
	.set	.Linlast16_\name, differ
	.set	.Lin32_\name, differ
	.set	.Lin16_\name, differ
	.set	.Lin64_\name, differ
	.endif
	end	\name
	.endm

	sse2_kernel memcmp_sse2, 1
	sse2_kernel memeq_sse2, 0

/* ---- AVX2, with BMI1 and BMI2 ----------------------------------------------------------------------------- */

/* 32 bytes at \offset from a and b: eax 0 where equal, else its lowest set bit is the number of the first byte that differs. */
	.macro	avx2_32 offset=0, index=
	.ifb	\index
	vmovdqu	\offset(%rsi), %ymm0
	vpcmpeqb \offset(%rdi), %ymm0, %ymm0
	.else
	vmovdqu	\offset(%rsi,\index), %ymm0
	vpcmpeqb \offset(%rdi,\index), %ymm0, %ymm0
	.endif
	vpmovmskb %ymm0, %eax
	inc	%eax
	.endm

/* 64 bytes at a and rsi + a: ymm0 and ymm1 what vpcmpeqb says of each 32; eax 0 where all are equal. */
	.macro	avx2_64
	vmovdqu	(%rsi,%rdi), %ymm0
	vmovdqu	32(%rsi,%rdi), %ymm1
	vpcmpeqb (%rdi), %ymm0, %ymm0
	vpcmpeqb 32(%rdi), %ymm1, %ymm1
	vpand	%ymm0, %ymm1, %ymm4
	vpmovmskb %ymm4, %eax
	inc	%eax
	.endm

/* 128 bytes at a and rsi + a: ymm0-ymm3 what vpcmpeqb says of each 32; eax 0 where all are equal. */
	.macro	avx2_128
	vmovdqu	(%rsi,%rdi), %ymm0
	vmovdqu	32(%rsi,%rdi), %ymm1
	vmovdqu	64(%rsi,%rdi), %ymm2
	vmovdqu	96(%rsi,%rdi), %ymm3
	vpcmpeqb (%rdi), %ymm0, %ymm0
	vpcmpeqb 32(%rdi), %ymm1, %ymm1
	vpcmpeqb 64(%rdi), %ymm2, %ymm2
	vpcmpeqb 96(%rdi), %ymm3, %ymm3
	vpand	%ymm0, %ymm1, %ymm4
	vpand	%ymm2, %ymm3, %ymm5
	vpand	%ymm4, %ymm5, %ymm4
	vpmovmskb %ymm4, %eax
	inc	%eax
	.endm

/*
 * 1 <= n <= 64, by reading 64 bytes and ignoring what is behind n: no branch depends on n. Where those might reach into the next page, on to
 * \slow.
 */
	.macro	avx2_window order, slow
	unless_in_page 64, \slow
	vmovdqu	(%rsi), %ymm0
	vmovdqu	32(%rsi), %ymm1
	vpcmpeqb (%rdi), %ymm0, %ymm0
	vpcmpeqb 32(%rdi), %ymm1, %ymm1
	vpmovmskb %ymm0, %eax
	vpmovmskb %ymm1, %ecx
	vzeroupper
	shl	$32, %rcx
	lea	1(%rax,%rcx), %rax	/* + 1 sets the first 0 and clears what is below */
	bzhi	%rdx, %rax, %rcx
	jnz	1f
	xor	%eax, %eax
	ret
	.balign	16
1:
	.if	\order
	tzcnt	%rcx, %rcx
	return_difference
	.else
	mov	$1, %eax
	ret
	.endif
	.endm

/* n > 64, or 0. */
	.macro	avx2_long name, order
	test	%rdx, %rdx
	jz	.Lzero_\name
	avx2_32
	jnz	.Lin32_\name
	avx2_32	32
	jnz	.Lin64_\name
	cmp	$128, %rdx
	ja	.L129_\name
	avx2_32	-64, %rdx
	jnz	.Linlast64_\name
	avx2_32	-32, %rdx
	jnz	.Linlast32_\name
.Lequal_\name:
	vzeroupper
	ret
.Lzero_\name:
	xor	%eax, %eax
	ret

	.balign	32
.L129_\name:				/* r8 the last 128 bytes of a; rsi b - a; rdi the next bytes of a */
	lea	-128(%rdi,%rdx), %r8
	sub	%rdi, %rsi
	add	$64, %rdi
	cmp	$256, %rdx
	ja	.L257_\name
	avx2_64
	jnz	.Lin128_\name		/* finds it in ymm0 or ymm1 */
2:	mov	%r8, %rdi
	avx2_128
	jnz	.Lin128_\name
	vzeroupper
	ret

	.balign	32
.L257_\name:
	and	$-32, %rdi		/* loads of a: aligned */
1:	avx2_128
	jnz	.Lin128_\name
	sub	$-128, %rdi
	cmp	%r8, %rdi
	jb	1b
	jmp	2b

	.if	\order
	.balign	16
.Lin128_\name:				/* ymm0-ymm3 compared; a mask of 64 bits from two of them: + 1 sets its first 0 */
	add	%rdi, %rsi
	vpmovmskb %ymm0, %eax
	vpmovmskb %ymm1, %ecx
	shl	$32, %rcx
	or	%rax, %rcx
	inc	%rcx
	jnz	3f
	add	$64, %rdi
	add	$64, %rsi
	vpmovmskb %ymm2, %eax
	vpmovmskb %ymm3, %ecx
	shl	$32, %rcx
	or	%rax, %rcx
	inc	%rcx
3:	vzeroupper
	tzcnt	%rcx, %rcx
	return_difference
	.balign	16
.Linlast64_\name:
	sub	$32, %rdx
.Linlast32_\name:
	vzeroupper
	tzcnt	%eax, %ecx
	add	%rdx, %rcx
	return_difference -32
.Lin64_\name:
	add	$32, %rdi
	add	$32, %rsi
.Lin32_\name:
	vzeroupper
	tzcnt	%eax, %ecx
	return_difference
	.else
.Lin128_\name:
.Lin32_\name:
.Lin64_\name:
.Linlast32_\name:
.Linlast64_\name:
	vzeroupper			/* eax is not 0 */
	ret
	.endif
	.endm

/* ---- AVX-512 F, BW, VL, with BMI1 and BMI2 ---------------------------------------------------------------- */
/* Only zmm16 and higher: nothing that vzeroupper would have to clear. */

/* 64 bytes at \offset from a and b, or from index + a and index + b: k1 the bytes that differ; ZF set where none does. */
	.macro	avx512_64 offset=0, index=
	.ifb	\index
	vmovdqu64 \offset(%rsi), %zmm16
	vpcmpneqb \offset(%rdi), %zmm16, %k1
	.else
	vmovdqu64 \offset(%rsi,\index), %zmm16
	vpcmpneqb \offset(%rdi,\index), %zmm16, %k1
	.endif
	kortestq %k1, %k1
	.endm

/*
 * 256 bytes at a and rsi + a: ZF set where all are equal, else k1 is not 0. The ternary operation 0xf6 is first | (second ^ third): one
 * instruction for a difference and its sum with the others.
 */
	.macro	avx512_256
	vmovdqu64 (%rsi,%rdi), %zmm16
	vmovdqu64 64(%rsi,%rdi), %zmm17
	vmovdqu64 128(%rsi,%rdi), %zmm18
	vmovdqu64 192(%rsi,%rdi), %zmm19
	vpxorq	(%rdi), %zmm16, %zmm16
	vpxorq	64(%rdi), %zmm17, %zmm17
	vpternlogq $0xf6, 128(%rdi), %zmm18, %zmm16
	vpternlogq $0xf6, 192(%rdi), %zmm19, %zmm17
	vporq	%zmm16, %zmm17, %zmm16
	vptestmb %zmm16, %zmm16, %k1
	kortestq %k1, %k1
	.endm

/*
 * n <= 64 in two windows of 32 bytes, without a branch on n. In the first, bytes behind n are masked out; no fault is raised for them, and as
 * the mask clears what it excludes ({z}), no call waits for the loads of the one before. The second ends at n; where n < 32, both sides are
 * moved to zeros. So it needs no mask, which would cost hundreds of cycles beside a page that is not there, and does not touch a
 * cache line behind the bytes, as a window of 64 bytes would.
 */
	.macro	avx512_windows order
	mov	$-1, %ecx
	bzhi	%edx, %ecx, %ecx
	kmovd	%ecx, %k2
	vmovdqu8 (%rsi), %ymm16{%k2}{z}
	vpcmpneqb (%rdi), %ymm16, %k1{%k2}
	kmovd	%k1, %eax		/* a register is branched on sooner than a mask */
	test	%eax, %eax
	jnz	1f
	lea	zeros + 32(%rip), %rcx
	sub	$32, %rdx
	cmovb	%rcx, %rsi
	cmovb	%rcx, %rdi
	vmovdqu64 (%rsi,%rdx), %ymm16
	vpcmpneqb (%rdi,%rdx), %ymm16, %k1
	kmovd	%k1, %eax
	test	%eax, %eax
	.if	\order
	jnz	2f
	ret
	.balign	16
2:	add	%rdx, %rdi
	add	%rdx, %rsi
1:	tzcnt	%eax, %ecx
	return_difference
	.else
1:	ret				/* eax: not 0 where they differ */
	.endif
	.endm

/* n > 64. */
	.macro	avx512_long name, order
	avx512_64
	jnz	.Lin64_\name
	cmp	$256, %rdx
	ja	.L257_\name
	cmp	$128, %rdx
	ja	.L129_\name
	avx512_64 -64, %rdx
	jnz	.Linlast64_\name
	xor	%eax, %eax
	ret

	.balign	32
.L129_\name:
	avx512_64 64
	jnz	.Lin128_\name
	avx512_64 -128, %rdx
	jnz	.Linlast128_\name
	avx512_64 -64, %rdx
	jnz	.Linlast64_\name
	xor	%eax, %eax
	ret

	.balign	32
.L257_\name:				/* r8 the last 256 bytes of a; rsi b - a; rdi the next bytes of a, then aligned */
	lea	-256(%rdi,%rdx), %r8
	sub	%rdi, %rsi
	add	$64, %rdi
	cmp	%r8, %rdi
	jae	2f
	and	$-64, %rdi
	.balign	32
1:	avx512_256
	jnz	.Lin256_\name
	add	$256, %rdi
	cmp	%r8, %rdi
	jb	1b
2:	mov	%r8, %rdi
	avx512_256
	jnz	.Lin256_\name
	xor	%eax, %eax
	ret

	.if	\order
	.balign	16
.Lin256_\name:
	add	%rdi, %rsi
	avx512_64
	jnz	.Lin64_\name
	avx512_64 64
	jnz	.Lin128_\name
	sub	$-128, %rdi
	sub	$-128, %rsi
	avx512_64
	jnz	.Lin64_\name
	avx512_64 64
.Lin128_\name:
	kmovq	%k1, %rcx
	tzcnt	%rcx, %rcx
	and	$63, %ecx		/* stays in bounds even where another thread has just made the bytes equal */
	return_difference 64
.Lin64_\name:
	kmovq	%k1, %rcx
	tzcnt	%rcx, %rcx
	return_difference
.Linlast128_\name:
	sub	$64, %rdx
.Linlast64_\name:
	kmovq	%k1, %rcx
	tzcnt	%rcx, %rcx
	add	%rdx, %rcx
	return_difference -64
	.else
.Lin256_\name:
.Lin64_\name:
.Lin128_\name:
.Linlast64_\name:
.Linlast128_\name:
	mov	$1, %eax
	ret
	.endif
	.endm

/* n = 20 without vectors: every load lies within what a program stores when it copies an object name. With BMI1 and BMI2. */
	.macro	words_20 order
	mov	(%rdi), %rax
	mov	(%rsi), %rcx
	cmp	%rcx, %rax
	jne	1f
	mov	8(%rdi), %rax
	mov	8(%rsi), %rcx
	cmp	%rcx, %rax
	jne	1f
	mov	16(%rdi), %eax
	mov	16(%rsi), %ecx
	cmp	%ecx, %eax
	jne	1f
	xor	%eax, %eax
	ret
	.balign	16
1:
	.if	\order
	mov	%rcx, %rdx		/* the lowest bytes that differ of rax and rcx */
	xor	%rax, %rcx
	tzcnt	%rcx, %rcx
	and	$0x38, %ecx
	shrx	%rcx, %rax, %rax
	shrx	%rcx, %rdx, %rdx
	movzbl	%al, %eax
	movzbl	%dl, %edx
	sub	%edx, %eax
	.else
	mov	$1, %eax
	.endif
	ret
	.endm

/* ---- The exported entries, and the kernels by name ------------------------------------------------------------ */

/*
 * Every call of the program arrives at an entry, perhaps before this library's relocations have been applied. What it looks at needs none: a
 * size that no call has, windows for n below 0, which are never taken, and a distance from the SSE2 kernel to the function that is to answer, 0
 * until the constructor has chosen. Windows also say that the kernel for more is the AVX-512 one: no need for the indirect jump. It answers every n:
 * windows may have been chosen since the first look. Who uses neither windows nor words pays two jumps.
 */
	.macro	entry name, order, chosen, sse2, avx2, avx512
	function \avx512			/* from the entry, nearly always n > 64 */
	cmp	$64, %rdx
	jbe	.Lwindow_\avx512
	avx512_long \avx512, \order
	.balign	32
.Lwindow_\avx512:
	avx512_windows \order
	end	\avx512

	function \avx2
	lea	-1(%rdx), %rax
	cmp	$64, %rax
	jae	.Llong_\avx2
	avx2_window \order, \sse2
	.balign	32
.Llong_\avx2:
	avx2_long \avx2, \order
	end	\avx2

	.globl	\name
	.type	\name, @function
	.balign	64
\name:	_CET_ENDBR
	cmp	memcmp_path+PATH_AVX512_BELOW(%rip), %rdx
	jae	4f
	avx512_windows \order
	.balign	16
4:	cmp	memcmp_path+PATH_WORDS_N(%rip), %rdx
	je	3f
	cmpq	$0, memcmp_path+PATH_AVX512_BELOW(%rip)
	jne	\avx512
	lea	\sse2(%rip), %r8
	add	memcmp_path+\chosen(%rip), %r8
	jmp	*%r8
	.balign	32
3:	words_20 \order
	end	\name
	.endm

	entry	memcmp, 1, PATH_ORDER, memcmp_sse2, memcmp_avx2, memcmp_avx512
	entry	__memcmpeq, 0, PATH_EQUAL, memeq_sse2, memeq_avx2, memeq_avx512
	.globl	bcmp
	.type	bcmp, @function
	.set	bcmp, __memcmpeq

	.section .rodata
	.balign	64
zeros:	.zero	64

	.section .note.GNU-stack, "", @progbits
