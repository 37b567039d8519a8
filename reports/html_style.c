/* html_style.c - reports/style.css, as a string in the program. */
#include "reports/html_part.h"

__asm__(".pushsection .rodata\n"
	".global html_style\n"
	".hidden html_style\n"
	"html_style:\n"
	".incbin \"reports/style.css\"\n"
	".byte 0\n"
	".popsection\n");
