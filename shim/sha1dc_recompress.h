/*
 * sha1dc_recompress.h - recompression of survivors in vector lanes: a template, included once for each instruction set with
 * LANES (1, 4, 8), TARGET (the function's attributes), RECOMPRESS (its name) and EXPAND (fills in w[16] to w[79]) defined
 *
 * The other message of a collision, m2, differs from the block by the disturbance vector. From the state that the block's compression had
 * before step 58 or 65, where both messages agree, m2 leads back to its chaining value and forward to its end; their sum equals the
 * block's result in a collision, and practically never otherwise. Lanes tested at step 65 first go back to step 58, then all go together.
 */
#if LANES == 1
#define WORDS uint32_t
#define NOW(x) __asm__("" : "+r"(x))
#else
#define WORDS CONCAT(words, LANES)
#define NOW(x) __asm__("" : "+v"(x))
#endif
#define ROW(row) (*(const WORDS *)&survivors->word[row][first])

TARGET unsigned RECOMPRESS(const struct sha1dc_survivors *survivors, unsigned first)
{
	WORDS w[80] __attribute__((aligned(64))), a, b, c, d, e, fa, fb, fc, fd, fe, differ;
	const WORDS late = ROW(SURVIVOR_LATE);
	uint32_t differs[LANES];
	unsigned hits = 0;

	for (int t = 0; t < 16; t++)
		w[t] = ROW(SURVIVOR_M2 + t);
	EXPAND(w);

	/* as from step 56: on to step 58 with the block's own words */
	fa = a = ROW(SURVIVOR_STATE);
	fb = b = ROW(SURVIVOR_STATE + 1);
	fc = c = ROW(SURVIVOR_STATE + 2);
	fd = d = ROW(SURVIVOR_STATE + 3);
	fe = e = ROW(SURVIVOR_STATE + 4);
	FORWARD(fa, fb, fc, fd, fe, MAJORITY, w[56] ^ ROW(SURVIVOR_DM));
	FORWARD(fe, fa, fb, fc, fd, MAJORITY, w[57] ^ ROW(SURVIVOR_DM + 1));

	/* as from step 64: on to step 65 with the block's own word, and back to step 58 with the other message's */
	FORWARD(a, b, c, d, e, PARITY60, w[64] ^ ROW(SURVIVOR_DM));
	BACKWARD(a, b, c, d, e, PARITY60, w[64]);
	BACKWARD(b, c, d, e, a, PARITY60, w[63]);
	BACKWARD(c, d, e, a, b, PARITY60, w[62]);
	BACKWARD(d, e, a, b, c, PARITY60, w[61]);
	BACKWARD(e, a, b, c, d, PARITY60, w[60]);
	BACKWARD(a, b, c, d, e, MAJORITY, w[59]);
	BACKWARD(b, c, d, e, a, MAJORITY, w[58]);

	/* the state before step 58 is (b, c, d, e, a) and (fd, fe, fa, fb, fc): from here on a to e again */
	WORDS sa = (b & late) | (fd & ~late), sb = (c & late) | (fe & ~late), sc = (d & late) | (fa & ~late);
	WORDS sd = (e & late) | (fb & ~late), se = (a & late) | (fc & ~late);
	fa = a = sa;
	fb = b = sb;
	fc = c = sc;
	fd = d = sd;
	fe = e = se;

	FORWARD(fa, fb, fc, fd, fe, MAJORITY, w[58]);
	FORWARD(fe, fa, fb, fc, fd, MAJORITY, w[59]);
	BACKWARD(b, c, d, e, a, MAJORITY, w[57]);
	BACKWARD(c, d, e, a, b, MAJORITY, w[56]);
	BACKWARD(d, e, a, b, c, MAJORITY, w[55]);
	for (int t = 54; t >= 40; t -= 5)
		BACKWARD5(d, e, a, b, c, MAJORITY, w + t);
	for (int k = 0; k < 20; k += 5) { /* two chains side by side */
		BACKWARD5(d, e, a, b, c, PARITY20, w + 39 - k);
		FORWARD5(fd, fe, fa, fb, fc, PARITY60, w + 60 + k);
	}
	for (int t = 19; t >= 0; t -= 5)
		BACKWARD5(d, e, a, b, c, CHOICE, w + t);

	differ = (d + fd) ^ ROW(SURVIVOR_OUT);
	differ |= (e + fe) ^ ROW(SURVIVOR_OUT + 1);
	differ |= (a + fa) ^ ROW(SURVIVOR_OUT + 2);
	differ |= (b + fb) ^ ROW(SURVIVOR_OUT + 3);
	differ |= (c + fc) ^ ROW(SURVIVOR_OUT + 4);
	memcpy(differs, &differ, sizeof(differs));
	for (unsigned lane = 0; lane < LANES; lane++)
		if (!differs[lane] && first + lane < survivors->n)
			hits |= 1u << (first + lane);
	return hits;
}

#undef ROW
#undef WORDS
#undef NOW
#undef LANES
#undef TARGET
#undef RECOMPRESS
#undef EXPAND
