/*
 * picture.h - draws one picture: a surface with the pattern of its class, under
 * natural light.
 *
 *	pattern, turned, scaled, seen at a slant, bent by a smooth field
 *	  -> mottled colours of figure and ground (1/f noise) -> light and shade
 *	  + detail: fine noise, uneven over the picture, whose strength the caller
 *	    chooses when developing; it is what makes the file large or small
 *
 * Everything but the pattern is drawn at random from the seed, colours too, and says
 * nothing about the class.
 */
#ifndef DSA_PICTURE_H
#define DSA_PICTURE_H

#include <stdint.h>

struct picture;

/* A picture for at most width x height pixels; NULL when memory is short. */
struct picture *picture_new(unsigned width, unsigned height);
void picture_free(struct picture *picture);

/* Draws anew. The same arguments give the same picture. */
void picture_draw(struct picture *picture, unsigned width, unsigned height,
		  unsigned label, uint64_t seed);

/* Writes width x height x RGB, with so many levels of detail (standard deviation). */
void picture_develop(const struct picture *picture, float detail, uint8_t *rgb);

#endif
