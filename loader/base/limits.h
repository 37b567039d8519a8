/* limits.h - the largest values of a loader's settings, and of the changes to them. */
#ifndef DSA_LIMITS_H
#define DSA_LIMITS_H

#define LIMIT_BATCH       65536
#define LIMIT_WORKERS     128
#define LIMIT_PREFETCH    64
#define LIMIT_FETCH_DEPTH 256
#define LIMIT_WORLD       1048576
#define LIMIT_SIZE        4096      /* pixels of a delivered picture's side */
#define LIMIT_SAMPLE      (1 << 30) /* bytes as stored; a bigger one is refused */
#define LIMIT_READ_GAP    (1 << 30) /* bytes between samples of one read */
#define LIMIT_LENGTH      1048576   /* tokens of a window but the last */
#define LIMIT_SECONDS     600       /* of a crop of a recording */
#define LIMIT_RATE        192000    /* Hz that it becomes, */
#define LIMIT_RATE_LEAST  1000      /* and at the least */
#define LIMIT_SIDE        65500     /* pixels of a side of a JPEG */
#define LIMIT_CORES       512       /* of a prediction */
#define LIMIT_DEVICES     1024      /* that a program may choose from */
#define LIMIT_JOBS        64        /* that share a loader */
#define LIMIT_PARTS       64        /* data sets that are read as one */
#define LIMIT_DEADLINE    3600      /* seconds of a request, with all its tries */
#define LIMIT_DELAY       3600 /* seconds that a read or a sample's prep is slowed */

#define LIMIT_REQUESTS 1000000000000 /* to servers, while a program is measured */

/* For messages: "65536" and "1 to 65536". */
#define LIMIT_TEXT(limit)  LIMIT_DIGITS(limit)
#define LIMIT_DIGITS(most) #most
#define LIMIT_RANGE(limit) "1 to " LIMIT_TEXT(limit)

#endif
