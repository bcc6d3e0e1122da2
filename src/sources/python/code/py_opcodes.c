#include "src/sources/python/code/py_opcodes.h"

#include <stddef.h>

/* By opcode: its role; its caches ('a' = 10); its effect on the value stack: '2' +2, 'b' −2, 'U' to 'Z' depend on its
 * argument (py_opcode_effect), '~' unknown. From Lib/opcode.py, dis.stack_effect(), and, for specialized instructions,
 * Include/internal/pycore_opcode.h (3.11, 3.12) and Lib/_opcode_metadata.py (since 3.13) of CPython. */
static const struct py_opcodes {
	unsigned minor;
	char roles[257], caches[257], effects[257];
} known[] = {
	{ 8,
		"!......!!....!!...!..!.&-z....!!!!!!!!!!!!!!!!!!!!.....+..!.Z..."
		"....G...v.!.....!..r..Y...NX.F.A.gX!Lm....t<..jeeaeeo!!!!!s!lfX!"
		"!!RC..!.hDX!!k.sx.........s....!tCs.!!!!!!!!!!!!!!!!!!!!!!!!!!!!"
		"!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!",
		"0000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000000000000000000000000000000000000000",
		"~a00120~~0000~~0aa~aa~aaaaaaaa~~~~~~~~~~~~~~~~~~~~0116gaaa~acbaa"
		"aaaa00a1a0~aaaaa~2c~a000fca0~~~baa0~11XXX~0aa1~~~~~~1~~~~~~~1a0~"
		"~~~U~~~11a0~~V~~0aab1XXXXX~~UXX~1V~f~~~~~~~~~~~~~~~~~~~~~~~~~~~~"
		"~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~" },
	{ 9,
		"!......!!....!!...!..!.&-z....!!!!!!!!!!!!!!!!!!R....!.+..!.Z..."
		"....G...v.......!!.r..Y.!.NX.F.A.gX!Lm....t<..jeeaeeo..!!es!lfX!"
		"!!RC..!.hDX!!k.sx....!!!!!s...!!tC....!!!!!!!!!!!!!!!!!!!!!!!!!!"
		"!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!",
		"0000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000000000000000000000000000000000000000",
		"~a00120~~0000~~0aa~aa~aaaaaaaa~~~~~~~~~~~~~~~~~~~1011~gaaa~acbaa"
		"aaaa00a1a01aaaaa~~0~a000~ca0~~~baa0~11XXX~0aa1~~~~~~1aa~~~~~1a0~"
		"~~~U~~~11a0~~V~~0aab1~~~~~~~UX~~1Vaaaa~~~~~~~~~~~~~~~~~~~~~~~~~~"
		"~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~" },
	{ 10,
		"!......!!....!!...!..!.&-z.........!!!!!!!!!!!!!!....!.+..!.Z..."
		"....G...v.......!!.r..Y.!.NX.F.A.gX.Lm....t<..jeeaeeo..R!es!lfX!"
		"!.RC..!.hDX!!k.sx....!!!.!s...!!tC....!!!!!!!!!!!!!!!!!!!!!!!!!!"
		"!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!",
		"0000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000000000000000000000000000000000000000",
		"~a00120~~0000~~0aa~aa~aaaaaaaa11120~~~~~~~~~~~~~~1011~gaaa~acbaa"
		"aaaa00a1a01aaaaa~~0~a000~ca0~~~baa0011XXX~0aa1~~~~~~1aa~~~~~1a0~"
		"~a~U~~~11a0~~V~~0aab1~~~a~~~UX~~1Vaaaa~~~~~~~~~~~~~~~~~~~~~~~~~~"
		"~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~" },
	{ 11,
		"!.u++++++....++.+zzzzzCCCz<<<<....x...btttttLlloo......ottttZ.tt"
		"PPPPG...PP..PPPPPP.r..Y...NX.F.A.gX.Lm....t<..jccPcco..R.P+SlfXP"
		"ccR...n..hDXbP.Px........AA...AAtf....PfZZZCKdddd....!!!!!!!!!!!"
		"!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!",
		"00011111100001101444444444222200000000044444000550000005aaaa10aa"
		"1111000011001111110000000000100400000000004200000100500001100001"
		"00000000000001010000000004400044a0000010111400000111100000000000"
		"0000000000000000000000000000000000000000000000000000000000000000",
		"~a1aaaaaa0000aa0aaaaaaaaaaaaaa11110100~00000111YY10111bY1111cb11"
		"UUUU00a1UU10UUUUUU0~a000aaa0~~~baa0011XXX~0aa1~~~U~~Yaa~1Ua01a0U"
		"~~~0~~~011a0~U~U0aab1000bbb~UXbb1aaaaaUaccca0~~~~~~~~~~~~~~~~~~~"
		"~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~" },
	{ 12,
		"!.ur..+++.+..++.+!+zzzzCCz..CC....C...CCCCCCCCCCC.......C<<<Z.FF"
		"FF..G.t.tt..tttttttrL.l.l.NX.F.A.gX.Lm....t<..jooAcco..R.r+SlfXl"
		"ccR...n..hDXb...x...A.Y..Af...fZZ.......S!!CK....!!!!!!!!!!!!!!!"
		"!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!.cc.CrY.jbrFcc..!!!",
		"0000001110100110101111133100330000300033333333333000000031111011"
		"1111009099009999999000000000110400000000009100044400400000110000"
		"0000000000000100000040000400000111000011100300000000000000000000"
		"0000000000000000000000000000000000000000000001000300000010000000",
		"~a1~baaaa0a00aa0a~aaaaaVVabdVV1111V100VVVVVVVVVVV10111baVaaacb~~"
		"~~~~00Z1ZZ10ZZZZZZZ~10111aa0~~~baa0011XXX~Zaa1~YYb~~Yaa~1~a01a01"
		"~~~0~~~011a0~~~10aabb000bba~UXacc~aaaa~~0~~V00a00~~~~~~~~~~~~~~~"
		"~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~0V~0~~~~~~~ba~~~" },
	{ 13,
		"!..+.z...........!.G..r...........u.r..ZB....+.......C...k<....."
		"XXXX..!xF....bnj..tLhl.lw..om....ccccRRrS...ADfqpgN...Y!!!!!!!!!"
		"!!!!!!!!!!!!!!!!!!!!!.+++++++zzzzzCCCCCCCCCCCCCCCCCCCC<<<..FFFFt"
		"tttttttttttoo...SAAAZZBBBBBB...!!!!!!!!!!!!!...rrY.FCk.!jbcccc!!",
		"0001010000000000000000000000000000000001300001000000030000110000"
		"0000000010000100009000000004010001111000100040000000010000000000"
		"0000000000000000000000111111111111333333333333333333331111111119"
		"9999999999944110144411333333111000000000000000000011300001111100",
		"~11aba00abbaaa0a0~1010~11101110aa111~0dc00001aUX~X~XXV~0aWaa010a"
		"0000aa~0~01aa~~~aaZ11111200Y1~0bb~~~~~~~0aaabaa0baa0~~0~~~~~~~~~"
		"~~~~~~~~~~~~~~~~~~~~~0aaaaaaaaaaaaVVVVVVVVVVVVVVVVVVVVaaaaa~~~~Z"
		"ZZZZZZZZZZZYY~~00bbbcc000000~~~~~~~~~~~~~~~~0aa~~0~~VW~~~~~~~~~~" },
	{ 14,
		"!..+............G!..r............u.r..ZB....+.......C..k<.....XX"
		"XX...xF....bnj..t.Lhl.lwlw..omi.....ccccRRS...ADfqpgN...Y!!!!!!!"
		".++++++++++++++CCCCCCCCkkkCCCCCCCCCCCC<<<..FFFFbbtttttttttttttLL"
		"oo...SAAAZZBBBBBB...!!!!!!!!!!!!!!!!!!!!!!...F!j.cccc.rY..Ck.b!!",
		"0005000000000000000000000000000000000013000050000000300311000000"
		"0000001000010000900000000000400010001111001000400000000100000000"
		"0555555555555553333333333333333333333311111111111999999999999900"
		"4411014441133333311100000000000000000000000001000111100001330100",
		"~baac00abaaa0a010~10a11011100aaa11100dc00001a~X~XXXXV0aWaa010a00"
		"00aa~0~01aa~~~aaZ11111121200Y111~0bb~~~~Ua~aaabaa0baa0~~0~~~~~~~"
		"0aaaaaaaaaaaaaaVVVVVVVVWWWVVVVVVVVVVVVaaaaa~~~~~~ZZZZZZZZZZZZZ11"
		"YY~~0~bbbcc000000~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~" },
	{ 15,
		"!..+.............!r............u.r..ZB....+.......C..k<.....XXXX"
		"...xF.G...bnj..t.Lhl.lwlw..omi.....ccccRRS...ADfqpgN...Y!!!!!!!!"
		".+++++++++++++++CCCCCCC..CkkkCCCCCCCCCCCC<<<..FFFFFGGbbttttttttt"
		"ttttoo....SSSAAAZZBBBBBB...!!!!!!!!!!!!!!...F!j.cccc.rY..Ck.b!!!",
		"0005100000000000000000000000000000001300005000000030031100000000"
		"0000101000100009000000000004000100011110010004000000001000000000"
		"1555555555555555333333311333333333333333311111111111111999999999"
		"9999441111111444113333331110000000000000000010001111100013311000",
		"~baac00ababa0a011~a11011100aba11100dc00001a~X~XXXXV0aWaa010a0000"
		"aa~0~011aa~~~aaZ11111121200Y111~0bb~~~~Ua~aaabaa0baa0~~0~~~~~~~~"
		"0aaaaaaaaaaaaaaaVVVVVVVccVWWWVVVVVVVVVVVVaaaaa~~~~~11~~ZZZZZZZZZ"
		"ZZZZYY~~00~~~bbbcc000000~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~" },
};

const struct py_opcodes *py_opcodes_of(unsigned minor)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].minor == minor)
			return &known[i];
	return NULL;
}

enum py_role py_opcode_role(const struct py_opcodes *opcodes, unsigned char opcode)
{
	return (enum py_role)opcodes->roles[opcode];
}

unsigned py_opcode_caches(const struct py_opcodes *opcodes, unsigned char opcode)
{
	char caches = opcodes->caches[opcode];
	return caches >= 'a' ? (unsigned)(caches - 'a') + 10 : (unsigned)(caches - '0');
}

bool py_opcode_effect(const struct py_opcodes *opcodes, unsigned char opcode, uint32_t argument, int64_t *effect)
{
	char form = opcodes->effects[opcode];
	int64_t count = argument;
	switch (form) {
	case 'U': *effect = -count; return true;
	case 'V': *effect = -count - 1; return true;
	case 'W': *effect = -count - 2; return true;
	case 'X': *effect = 1 - count; return true;
	case 'Y': *effect = 1 + (count & 1); return true;
	case 'Z': *effect = count & 1; return true;
	case '~': return false;
	default: *effect = form >= 'a' ? -(form - 'a') - 1 : form - '0'; return true;
	}
}
