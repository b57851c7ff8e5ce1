/*
 * sha1dc_recompress.h - recompression of survivors in vector lanes: a template, included once for each instruction set with
 * LANES (1, 4, 8, 16), TARGET (the function's attributes) and RECOMPRESS (its name) defined
 *
 * The other message of a collision, m2, differs from the block by the disturbance vector. From the state that the block's compression had
 * before step 58 or 65, where both messages agree, m2 leads back to its chaining value and forward to its end; their sum equals the
 * block's result in a collision, and practically never otherwise. Lanes tested at step 65 first go back to step 58, then all go together.
 */
#if LANES == 1
#define WORDS uint32_t
#define NOW(x) __asm__("" : "+r"(x))
#define SCHEDULE_DOWN(t) /* all words are there */
#else
#define WORDS CONCAT(words, LANES)
#define NOW(x) __asm__("" : "+v"(x))
#define SCHEDULE_DOWN(t) EXPAND_DOWN5(&W(t), next1, next2)
#endif
#define W(t) w[79 - (t)]

TARGET unsigned RECOMPRESS(const struct sha1dc_survivors *survivors, unsigned first)
{
	WORDS w[80 + 7] __attribute__((aligned(64))), a, b, c, d, e, fa, fb, fc, fd, fe, differ;
	uint32_t differs[LANES];
	unsigned hits = 0;

#if LANES == 1
	const WORDS *row = survivors->column[first];

	memcpy(w + 16, row + SURVIVOR_W63, 64);
	expand_one(w);
#else
	WORDS row[SURVIVOR_WORDS] __attribute__((aligned(64)));

	transpose((uint32_t *)(w + 16), &survivors->column[first], LANES, SURVIVOR_W63, 16);
	transpose((uint32_t *)(row + SURVIVOR_DCBA), &survivors->column[first], LANES, SURVIVOR_DCBA, SURVIVOR_WORDS - SURVIVOR_DCBA);
	EXPAND_UP(w);
	WORDS next1 = W(48), next2 = W(49);
#endif
	const WORDS late = row[SURVIVOR_LATE];
	const WORDS word64 = ROL(W(61) ^ W(56) ^ W(50) ^ W(48), 1); /* at once, not when the schedule gets to it */

	/* as from step 56: on to step 58 with the block's own words */
	fa = a = row[SURVIVOR_DCBA + 3];
	fb = b = row[SURVIVOR_DCBA + 2];
	fc = c = row[SURVIVOR_DCBA + 1];
	fd = d = row[SURVIVOR_DCBA];
	fe = e = ROL(row[SURVIVOR_E], 30);
	FORWARD(fa, fb, fc, fd, fe, MAJORITY, W(56) ^ row[SURVIVOR_DM]);
	FORWARD(fe, fa, fb, fc, fd, MAJORITY, W(57) ^ row[SURVIVOR_DM + 1]);

	/* as from step 64: before it, m2's state differs in e by what its word differs; back to step 58 */
	e += (word64 ^ row[SURVIVOR_DM]) - word64;
	BACKWARD(b, c, d, e, a, PARITY60, W(63));
	BACKWARD(c, d, e, a, b, PARITY60, W(62));
	BACKWARD(d, e, a, b, c, PARITY60, W(61));
	BACKWARD(e, a, b, c, d, PARITY60, W(60));
	BACKWARD(a, b, c, d, e, MAJORITY, W(59));
	BACKWARD(b, c, d, e, a, MAJORITY, W(58));

	/* the state before step 58 is (b, c, d, e, a) and (fd, fe, fa, fb, fc): from here on a to e again */
	WORDS sa = (b & late) | (fd & ~late), sb = (c & late) | (fe & ~late), sc = (d & late) | (fa & ~late);
	WORDS sd = (e & late) | (fb & ~late), se = (a & late) | (fc & ~late);
	fa = a = sa;
	fb = b = sb;
	fc = c = sc;
	fd = d = sd;
	fe = e = se;

	FORWARD(fa, fb, fc, fd, fe, MAJORITY, W(58));
	FORWARD(fe, fa, fb, fc, fd, MAJORITY, W(59));
	BACKWARD(b, c, d, e, a, MAJORITY, W(57));
	BACKWARD(c, d, e, a, b, MAJORITY, W(56));
	BACKWARD(d, e, a, b, c, MAJORITY, W(55));
	for (int t = 54; t >= 40; t -= 5) {
		SCHEDULE_DOWN(t - 7);
		BACKWARD5(d, e, a, b, c, MAJORITY, &W(t));
	}
	for (int k = 0; k < 20; k += 5) { /* two chains side by side */
		SCHEDULE_DOWN(32 - k);
		BACKWARD5(d, e, a, b, c, PARITY20, &W(39 - k));
		FORWARD5(fd, fe, fa, fb, fc, PARITY60, &W(60 + k));
	}
	for (int t = 19; t >= 0; t -= 5) {
		SCHEDULE_DOWN(t - 7); /* seven words too far in the end */
		BACKWARD5(d, e, a, b, c, CHOICE, &W(t));
	}

	differ = (d + fd) ^ row[SURVIVOR_OUT_DCBA + 3];
	differ |= (e + fe) ^ row[SURVIVOR_OUT_DCBA + 2];
	differ |= (a + fa) ^ row[SURVIVOR_OUT_DCBA + 1];
	differ |= (b + fb) ^ row[SURVIVOR_OUT_DCBA];
	differ |= (c + fc) ^ row[SURVIVOR_OUT_E];
	memcpy(differs, &differ, sizeof(differs));
	for (unsigned lane = 0; lane < LANES && first + lane < survivors->n; lane++)
		if (!differs[lane])
			hits |= 1u << (first + lane);
	return hits;
}

#undef W
#undef WORDS
#undef NOW
#undef SCHEDULE_DOWN
#undef LANES
#undef TARGET
#undef RECOMPRESS
