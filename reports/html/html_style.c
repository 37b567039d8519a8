/* html_style.c - reports/html/style.css, as a string in the program. */
#include "reports/html/html_part.h"

__asm__(".pushsection .rodata\n"
	".global html_style\n"
	".hidden html_style\n"
	"html_style:\n"
	".incbin \"reports/html/style.css\"\n"
	".byte 0\n"
	".popsection\n");
