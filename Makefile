# make                               dsa, its library and the examples
# make check                         every test
# make check SAN=address,undefined   every test under sanitizers; also SAN=thread
# build/plain/test/cache 'minio_*'   some unit tests
# tests/cli.t run                    one command-line test

SAN    ?=
comma  := ,
B      := build/$(or $(subst $(comma),-,$(SAN)),plain)$(if $(filter-out cc gcc,$(CC)),-$(notdir $(CC)))
CC     ?= cc
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local

NEED := libjpeg jansson liburing hwloc libxxhash

WARN  := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
         -Wpointer-arith -Wwrite-strings -Wcast-qual -Wundef -Wvla -Wformat=2 $(WERROR)
FLAGS := -std=c11 -D_GNU_SOURCE -I. $(WARN) -fPIC -fvisibility=hidden -pthread \
         $(shell pkg-config --cflags $(NEED)) \
         $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover -fno-omit-frame-pointer)
LINK  := $(FLAGS) $(shell pkg-config --libs $(NEED)) -lpfm -lm

source = $(shell find $1 -name '*.c' | sort)
object = $(patsubst %.c,$(B)/%.o,$(call source,$1))
LIB    := $(call object,loader profiler models reports)
UNIT   := $(patsubst tests/unit/%_test.c,$(B)/test/%,$(wildcard tests/unit/*_test.c))
EXAMPLES := $(patsubst %.c,$(B)/%,$(wildcard examples/*.c))

all: $(B)/dsa $(EXAMPLES)

$(B)/dsa: $(call object,cmd) $(B)/libhouse.a
	@echo '  LD  $@'
	@$(CC) $(CFLAGS) -o $@ $^ $(LINK)

$(B)/libhouse.a: $(LIB)
	@echo '  AR  $@'
	@rm -f $@; $(AR) rcs $@ $^

$(B)/libdsa.so: $(call object,loader)
	@echo '  LD  $@'
	@$(CC) $(CFLAGS) -shared -o $@ $^ $(LINK)

$(B)/examples/%: $(B)/examples/%.o $(B)/libdsa.so
	@mkdir -p $(@D)
	@echo '  LD  $@'
	@$(CC) $(CFLAGS) -o $@ $< -L$(B) -ldsa -Wl,-rpath,'$$ORIGIN/..' $(LINK)

$(B)/test/%: $(B)/tests/unit/%_test.o $(call object,tests/lib) $(B)/libhouse.a
	@mkdir -p $(@D)
	@echo '  LD  $@'
	@$(CC) $(CFLAGS) -o $@ $^ $(LINK) $(shell pkg-config --libs cmocka) \
		-Wl,--wrap=malloc,--wrap=calloc

$(B)/tests/%.o: private FLAGS += $(shell pkg-config --cflags cmocka)
$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo '  CC  $<'
	@$(CC) $(FLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Everything is rebuilt when the flags change, and nothing when they do not.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(FLAGS) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(FLAGS) $(CFLAGS)' >$@

build/fuzz/%: tests/fuzz/%_fuzz.c $(call source,loader profiler models reports)
	@mkdir -p $(@D)
	clang $(FLAGS) -g -O1 -fsanitize=fuzzer,address,undefined -o $@ $^ $(LINK)

check: all $(UNIT) headers
	CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$(CURDIR)/$(B) prove -j4 $(UNIT) tests/*.t

# Every header must compile by itself.
headers:
	@for h in $$(find cmd loader profiler models reports -name '*.h'); do \
		echo "#include \"$$h\"" | $(CC) $(FLAGS) -fsyntax-only -x c - || exit 1; done

clean:
	rm -rf build

FORCE:
.PHONY: all check headers clean FORCE
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
