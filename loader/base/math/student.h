/*
 * student.h - Student's t distribution.
 *
 * The incomplete beta function by its continued fraction (Abramowitz and Stegun 26.5.8,
 * 26.7.1).
 */
#ifndef DSA_STUDENT_H
#define DSA_STUDENT_H

/* t such that a share `inside` of the distribution lies within -t .. t; NAN with no
 * degree of freedom. */
double student_t(double inside, unsigned freedom);

#endif
