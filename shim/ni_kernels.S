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
 * The same for Golden Cove and its successors, where sha1msg2 is microcode (CPU_SLOW_SHA1MSG): a word group of the schedule is made as soon
 * as its last source is there, three groups before it is used. Cycles a block of 16 KiB on Emerald Rapids: 120.1 with the order above,
 * 117.8 with this one, as libcrypto's 117.2; with shifts for the rotations instead of sha1msg2: 143.
 *   \w0 .. \w3  message words of groups \i, \i+1, \i+2, \i+3 modulo 4, all ready on entry; \w0 becomes those of group \i+4
 *   \e          on entry E of this group with its message words added, or, where \i > 0, with those of the previous macro call
 *   \next       takes the same for the next group
 */
	.macro	sha1_rounds_early i, w0, w1, w2, w3, e, next
	.if	\i < 16
	sha1msg1 \w1, \w0
	.endif
	movdqa	%xmm0, \next
	sha1rnds4 $\i / 5, \e, %xmm0
	.if	\i < 19
	sha1nexte \w1, \next
	.endif
	.if	\i < 16
	pxor	\w2, \w0
	sha1msg2 \w3, \w0
	.endif
	.endm

/* Arguments and registers as those of sha1_blocks_ni. */
	.globl	sha1_blocks_ni_early
	.hidden	sha1_blocks_ni_early
	.type	sha1_blocks_ni_early, @function
	.balign	64
sha1_blocks_ni_early:
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
	sha1_rounds_early (\i),     %xmm3, %xmm4, %xmm5, %xmm6, %xmm1, %xmm2
	sha1_rounds_early (\i + 1), %xmm4, %xmm5, %xmm6, %xmm3, %xmm2, %xmm1
	sha1_rounds_early (\i + 2), %xmm5, %xmm6, %xmm3, %xmm4, %xmm1, %xmm2
	sha1_rounds_early (\i + 3), %xmm6, %xmm3, %xmm4, %xmm5, %xmm2, %xmm1
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
	.size	sha1_blocks_ni_early, . - sha1_blocks_ni_early

/*
 * The same with AVX-512, and of SHA-NI with sha1rnds4 only, which does its four rounds in 4 cycles there. sha1nexte takes 3, and changing over
 * from one to the other takes some, too: with it no less than 5 cycles go by between two sha1rnds4. Rotating the highest lane alone and
 * adding take 2. Group \i of the schedule, in xmm\w: below W[32] as FIPS 180-4 has it, where the lowest lane needs the highest one's
 * result; from then on as W[t-6] ^ W[t-16] ^ W[t-28] ^ W[t-32], rotated by 2 (M. Locktyukhin). 85 cycles a block on Emerald Rapids.
 *   \w1 to \w4, \w7  the registers of the groups so many before; \w holds group \i - 8
 *   \e, \next        registers of E, highest lane, the others zero, for this group and the next
 */
	.macro	sha1_group_only i, w, w1, w2, w3, w4, w7, e, next
	.if	\i < 20
	.if	\i >= 8
	vpalignr $8, %xmm\w1, %xmm\w2, %xmm11
	vpxor	%xmm\w7, %xmm\w, %xmm\w
	vpternlogd $0x96, %xmm11, %xmm\w4, %xmm\w
	vprold	$2, %xmm\w, %xmm\w
	.elseif	\i >= 4
	vpalignr $8, %xmm\w3, %xmm\w4, %xmm\w
	vpslldq	$4, %xmm\w1, %xmm11
	vpternlogd $0x96, %xmm\w2, %xmm\w4, %xmm\w
	vpxor	%xmm11, %xmm\w, %xmm\w
	vprold	$1, %xmm\w, %xmm\w
	vpsrldq	$12, %xmm\w, %xmm11
	vprold	$1, %xmm11, %xmm11
	vpxor	%xmm11, %xmm\w, %xmm\w
	.endif
	vpaddd	%xmm\w, %xmm\e, %xmm\e
	vprold	$30, %xmm0, %xmm\next{%k1}{z}
	sha1rnds4 $\i / 5, %xmm\e, %xmm0
	.endif
	.endm

/*
 * Arguments as those of sha1_blocks_ni; xmm0 to xmm2 likewise, but the lower lanes of E are zero; xmm3-xmm10 message words; xmm11 scratch;
 * xmm12 byte order; xmm13 xmm14 the state before the block; k1 the highest lane. Begins with vzeroupper: where the caller left upper halves
 * of YMM registers in use every change between SHA-NI and VEX instructions costs hundreds of cycles.
 */
	.globl	sha1_blocks_ni_nomsg
	.hidden	sha1_blocks_ni_nomsg
	.type	sha1_blocks_ni_nomsg, @function
	.balign	64
sha1_blocks_ni_nomsg:
	_CET_ENDBR
	test	%rdx, %rdx
	jz	2f
	vzeroupper
	mov	$8, %eax
	kmovd	%eax, %k1
	vmovd	16(%rdi), %xmm1
	vpshufd	$0x1b, (%rdi), %xmm0
	vpslldq	$12, %xmm1, %xmm1
	vmovdqa	.Lreverse_bytes(%rip), %xmm12

	.balign	64
1:	prefetcht0 PREFETCH(%rsi)
	vmovdqu	(%rsi), %xmm3
	vmovdqu	16(%rsi), %xmm4
	vmovdqu	32(%rsi), %xmm5
	vmovdqu	48(%rsi), %xmm6
	vpshufb	%xmm12, %xmm3, %xmm3
	vpshufb	%xmm12, %xmm4, %xmm4
	vpshufb	%xmm12, %xmm5, %xmm5
	vpshufb	%xmm12, %xmm6, %xmm6
	add	$64, %rsi
	vmovdqa	%xmm0, %xmm13
	vmovdqa	%xmm1, %xmm14

	.irp	i, 0, 8, 16
	sha1_group_only (\i    ), 3, 10, 9, 8, 7, 4, 1, 2
	sha1_group_only (\i + 1), 4, 3, 10, 9, 8, 5, 2, 1
	sha1_group_only (\i + 2), 5, 4, 3, 10, 9, 6, 1, 2
	sha1_group_only (\i + 3), 6, 5, 4, 3, 10, 7, 2, 1
	sha1_group_only (\i + 4), 7, 6, 5, 4, 3, 8, 1, 2
	sha1_group_only (\i + 5), 8, 7, 6, 5, 4, 9, 2, 1
	sha1_group_only (\i + 6), 9, 8, 7, 6, 5, 10, 1, 2
	sha1_group_only (\i + 7), 10, 9, 8, 7, 6, 3, 2, 1
	.endr

	vpaddd	%xmm14, %xmm1, %xmm1
	vpaddd	%xmm13, %xmm0, %xmm0
	dec	%rdx
	jnz	1b

	vpshufd	$0x1b, %xmm0, %xmm0
	vpsrldq	$12, %xmm1, %xmm1
	vmovdqu	%xmm0, (%rdi)
	vmovd	%xmm1, 16(%rdi)
2:	ret
	.size	sha1_blocks_ni_nomsg, . - sha1_blocks_ni_nomsg

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
