# Gives loader/base/trace.h and profiler/stage.h a stage that only a test has.
/^#define TRACE_STAGED(X)/a\
	X(COPIED, "copied") \\
/^#define STAGE_STALLS(X)/a\
	X(COPY, "copy", true, "copies", .kind = TRACE_COPIED, .ink = 2, .cell = "▓", \\\
	  .colour = "\\x1b[35m", .name = "Copy", .title = "Copy stall", \\\
	  .cause = "copies to the device", .about = "waiting for copies to the device", \\\
	  .window = "Copied: batches ready in host memory") \\
