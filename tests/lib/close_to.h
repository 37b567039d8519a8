/* close_to.h - fails the test unless a value is within so much of what is wanted. */
#ifndef DSA_TESTS_CLOSE_TO_H
#define DSA_TESTS_CLOSE_TO_H

void close_to(double value, double want, double within);

/* The same within a part of what is wanted. */
void assert_near(double value, double want, double part);

#endif
