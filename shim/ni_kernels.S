/* ni_kernels.S - SHA-1 and SHA-256 block functions with the SHA extensions (SHA-NI); state in registers over all blocks */
#include <cet.h>

/*
 * Bytes ahead that are fetched: hardware prefetchers stop at page boundaries, where a file just mapped has its data still in memory. Past the
 * end of the data it does no harm: a prefetch cannot fault.
 */
#define PREFETCH 1024

	.section .rodata.cst16, "aM", @progbits, 16
	.balign	16
.Lreverse_bytes:			/* four big-endian words, the first one into the highest lane */
	.quad	0x08090a0b0c0d0e0f, 0x0001020304050607
.Lreverse_words:			/* four big-endian words, the first one into the lowest lane */
	.quad	0x0405060700010203, 0x0c0d0e0f08090a0b

	.text

/*
 * Four rounds of SHA-1, number \i of 20; a chain of sha1rnds4 (latency 6) is what limits it, the rest runs beside it.
 *   \w0 .. \w3  message words of groups \i, \i+1, \i+2, \i+3 modulo 4; \w0 is ready on entry
 *   \e          on entry, where \i > 0, ABCD as it was before the previous group
 *   \next       takes ABCD for the next group
 * On the way \w1 gets its last step of the message schedule, \w3 its first and \w2 its middle one.
 */
	.macro	sha1_rounds i, w0, w1, w2, w3, e, next
	.if	\i == 0
	paddd	\w0, \e
	.else
	sha1nexte \w0, \e
	.endif
	movdqa	%xmm0, \next
	.if	\i >= 3 && \i <= 18
	sha1msg2 \w0, \w1
	.endif
	sha1rnds4 $\i / 5, \e, %xmm0
	.if	\i >= 1 && \i <= 16
	sha1msg1 \w0, \w3
	.endif
	.if	\i >= 2 && \i <= 17
	pxor	\w0, \w2
	.endif
	.endm

/*
 * void sha1_blocks_ni(uint32_t state[5], const void *data, size_t blocks)
 *   rdi state, rsi data, rdx blocks left
 *   xmm0 A B C D, A in the highest lane; xmm1, xmm2 E of the even and odd groups, highest lane
 *   xmm3-xmm6 message words; xmm7 byte order; xmm8 xmm9 the state before the block
 */
	.globl	sha1_blocks_ni
	.hidden	sha1_blocks_ni
	.type	sha1_blocks_ni, @function
	.balign	64
sha1_blocks_ni:
	_CET_ENDBR
	test	%rdx, %rdx
	jz	2f
	movdqu	(%rdi), %xmm0
	movd	16(%rdi), %xmm1
	pshufd	$0x1b, %xmm0, %xmm0
	pslldq	$12, %xmm1
	movdqa	.Lreverse_bytes(%rip), %xmm7

	.balign	64
1:	prefetcht0 PREFETCH(%rsi)
	movdqu	(%rsi), %xmm3
	movdqu	16(%rsi), %xmm4
	movdqu	32(%rsi), %xmm5
	movdqu	48(%rsi), %xmm6
	pshufb	%xmm7, %xmm3
	pshufb	%xmm7, %xmm4
	pshufb	%xmm7, %xmm5
	pshufb	%xmm7, %xmm6
	add	$64, %rsi
	movdqa	%xmm0, %xmm8
	movdqa	%xmm1, %xmm9

	.irp	i, 0, 4, 8, 12, 16
	sha1_rounds (\i),     %xmm3, %xmm4, %xmm5, %xmm6, %xmm1, %xmm2
	sha1_rounds (\i + 1), %xmm4, %xmm5, %xmm6, %xmm3, %xmm2, %xmm1
	sha1_rounds (\i + 2), %xmm5, %xmm6, %xmm3, %xmm4, %xmm1, %xmm2
	sha1_rounds (\i + 3), %xmm6, %xmm3, %xmm4, %xmm5, %xmm2, %xmm1
	.endr

	sha1nexte %xmm9, %xmm1
	paddd	%xmm8, %xmm0
	dec	%rdx
	jnz	1b

	pshufd	$0x1b, %xmm0, %xmm0
	psrldq	$12, %xmm1
	movdqu	%xmm0, (%rdi)
	movd	%xmm1, 16(%rdi)
2:	ret
	.size	sha1_blocks_ni, . - sha1_blocks_ni

/*
 * The same for Golden Cove and its successors, where sha1msg2 is microcode (CPU_SLOW_SHA1MSG): a word group of the schedule is made as soon as its
 * last source is there, three groups before it is used, and where AVX-512 has a rotation without sha1msg2. Cycles a block of 16 KiB on Emerald
 * Rapids: 120.1 with the order above, 117.8 with this one, 110.9 without sha1msg2; libcrypto's 117.2. (With shifts for the rotations: 143.)
 *   \w0 .. \w3  message words of groups \i, \i+1, \i+2, \i+3 modulo 4, all ready on entry; \w0 becomes those of group \i+4
 *   \e          on entry E of this group with its message words added, or, where \i > 0, with those of the previous macro call
 *   \next       takes the same for the next group
 *   \rotate     1: by AVX-512; xmm10 is scratch then
 */
	.macro	sha1_rounds_early i, rotate, w0, w1, w2, w3, e, next
	.if	\i < 16
	sha1msg1 \w1, \w0
	.endif
	movdqa	%xmm0, \next
	sha1rnds4 $\i / 5, \e, %xmm0
	.if	\i < 19
	sha1nexte \w1, \next
	.endif
	.if	\i < 16 && \rotate
	vpslldq	$4, \w3, %xmm10		/* W[t-3] of the upper three lanes */
	vpternlogd $0x96, \w2, %xmm10, \w0	/* xor of all three */
	vpsrldq	$12, \w0, %xmm10		/* the lowest lane needs the highest one's result, rotated once more */
	vprold	$1, \w0, \w0
	vprold	$2, %xmm10, %xmm10
	vpxor	%xmm10, \w0, \w0
	.elseif	\i < 16
	pxor	\w2, \w0
	sha1msg2 \w3, \w0
	.endif
	.endm

/* Arguments and registers as those of sha1_blocks_ni; xmm10 see above. */
	.macro	sha1_blocks_early name, rotate
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	64
\name:
	_CET_ENDBR
	test	%rdx, %rdx
	jz	2f
	movdqu	(%rdi), %xmm0
	movd	16(%rdi), %xmm1
	pshufd	$0x1b, %xmm0, %xmm0
	pslldq	$12, %xmm1
	movdqa	.Lreverse_bytes(%rip), %xmm7

	.balign	64
1:	prefetcht0 PREFETCH(%rsi)
	movdqu	(%rsi), %xmm3
	movdqu	16(%rsi), %xmm4
	movdqu	32(%rsi), %xmm5
	movdqu	48(%rsi), %xmm6
	pshufb	%xmm7, %xmm3
	movdqa	%xmm1, %xmm9
	pshufb	%xmm7, %xmm4
	pshufb	%xmm7, %xmm5
	pshufb	%xmm7, %xmm6
	add	$64, %rsi
	movdqa	%xmm0, %xmm8
	paddd	%xmm3, %xmm1

	.irp	i, 0, 4, 8, 12, 16
	sha1_rounds_early (\i),     \rotate, %xmm3, %xmm4, %xmm5, %xmm6, %xmm1, %xmm2
	sha1_rounds_early (\i + 1), \rotate, %xmm4, %xmm5, %xmm6, %xmm3, %xmm2, %xmm1
	sha1_rounds_early (\i + 2), \rotate, %xmm5, %xmm6, %xmm3, %xmm4, %xmm1, %xmm2
	sha1_rounds_early (\i + 3), \rotate, %xmm6, %xmm3, %xmm4, %xmm5, %xmm2, %xmm1
	.endr

	sha1nexte %xmm9, %xmm1
	paddd	%xmm8, %xmm0
	dec	%rdx
	jnz	1b

	pshufd	$0x1b, %xmm0, %xmm0
	psrldq	$12, %xmm1
	movdqu	%xmm0, (%rdi)
	movd	%xmm1, 16(%rdi)
2:	ret
	.size	\name, . - \name
	.endm

	sha1_blocks_early sha1_blocks_ni_early, 0
	sha1_blocks_early sha1_blocks_ni_nomsg, 1

/*
 * Four rounds of SHA-256, number \i of 16; a chain of sha256rnds2 (latency 4) is what limits it.
 *   \w0 .. \w3  message words of groups \i, \i+1, \i+2, \i+3 modulo 4; \w0 is ready on entry
 * On the way \w1 gets the end of its message schedule, \w3 the beginning.
 */
	.macro	sha256_rounds i, w0, w1, w2, w3
	movdqa	16 * (\i)(%rax), %xmm0
	paddd	\w0, %xmm0
	sha256rnds2 %xmm0, %xmm1, %xmm2
	.if	\i >= 3 && \i <= 14
	movdqa	\w0, %xmm7
	palignr	$4, \w3, %xmm7
	paddd	%xmm7, \w1
	sha256msg2 \w0, \w1
	.endif
	pshufd	$0x0e, %xmm0, %xmm0
	sha256rnds2 %xmm0, %xmm2, %xmm1
	.if	\i >= 1 && \i <= 12
	sha256msg1 \w0, \w3
	.endif
	.endm

/*
 * void sha256_blocks_ni(uint32_t state[8], const void *data, size_t blocks)
 *   rdi state, rsi data, rdx blocks left, rax round constants
 *   xmm0 message words plus constants; xmm1 A B E F, xmm2 C D G H, first letter in the highest lane
 *   xmm3-xmm6 message words; xmm7 scratch; xmm8 byte order; xmm9 xmm10 the state before the block
 */
	.globl	sha256_blocks_ni
	.hidden	sha256_blocks_ni
	.type	sha256_blocks_ni, @function
	.balign	64
sha256_blocks_ni:
	_CET_ENDBR
	test	%rdx, %rdx
	jz	2f
	lea	sha256_k(%rip), %rax
	movdqa	.Lreverse_words(%rip), %xmm8
	movdqu	(%rdi), %xmm7			/* D C B A */
	movdqu	16(%rdi), %xmm2			/* H G F E */
	pshufd	$0x1b, %xmm7, %xmm7		/* A B C D */
	pshufd	$0x1b, %xmm2, %xmm2		/* E F G H */
	movdqa	%xmm2, %xmm1
	punpckhqdq %xmm7, %xmm1			/* A B E F */
	punpcklqdq %xmm7, %xmm2			/* C D G H */

	.balign	64
1:	prefetcht0 PREFETCH(%rsi)
	movdqu	(%rsi), %xmm3
	movdqu	16(%rsi), %xmm4
	movdqu	32(%rsi), %xmm5
	movdqu	48(%rsi), %xmm6
	pshufb	%xmm8, %xmm3
	pshufb	%xmm8, %xmm4
	pshufb	%xmm8, %xmm5
	pshufb	%xmm8, %xmm6
	add	$64, %rsi
	movdqa	%xmm1, %xmm9
	movdqa	%xmm2, %xmm10

	.irp	i, 0, 4, 8, 12
	sha256_rounds (\i),     %xmm3, %xmm4, %xmm5, %xmm6
	sha256_rounds (\i + 1), %xmm4, %xmm5, %xmm6, %xmm3
	sha256_rounds (\i + 2), %xmm5, %xmm6, %xmm3, %xmm4
	sha256_rounds (\i + 3), %xmm6, %xmm3, %xmm4, %xmm5
	.endr

	paddd	%xmm9, %xmm1
	paddd	%xmm10, %xmm2
	dec	%rdx
	jnz	1b

	movdqa	%xmm2, %xmm7
	punpcklqdq %xmm1, %xmm2			/* E F G H */
	punpckhqdq %xmm1, %xmm7			/* A B C D */
	pshufd	$0x1b, %xmm2, %xmm2
	pshufd	$0x1b, %xmm7, %xmm7
	movdqu	%xmm7, (%rdi)
	movdqu	%xmm2, 16(%rdi)
2:	ret
	.size	sha256_blocks_ni, . - sha256_blocks_ni

	.section .note.GNU-stack, "", @progbits
