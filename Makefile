# make                               dsa, its library and the examples
# make demo                          a data set, a real training run, a verdict, a report
# make check                         every test
# make check SAN=address,undefined   unit tests and more under sanitizers; also SAN=thread
# make wheel                         a file for pip: dsa, dsa.py and all that they need
# make gpu-bundle                    a folder for a machine with a GPU: its tests/gpu/run
# make bench                         our loader against others, interleaved
# make bench-models                  predictions against measurements (half an hour)
# make bench-share                    one loader for several jobs, and its predictions
# make bench-advice                   what is advised, tried on ten profiles
# make bench-io                      what counting a program's reads costs it
# make bench-hooks                   programs nobody changed: truth, costs, the newest PyTorch
# make bench-gate                     false alarms and power of the gate, on hours of launches
# make bench-bucket [SMALL=1]         a bucket: waiting, requests, curl's rate; shards beside folders
# make bench-page                    predicted hits of the page cache against the kernel's
# make soak                          the long forms of the tests, a minute a fuzzer
# build/plain/test/cache 'minio_*'   some unit tests
# tests/cli.t run                    one command-line test

VERSION := 0.1.0
ABI     := 1

SAN    ?=
comma  := ,
B      := build/$(or $(subst $(comma),-,$(SAN)),plain)$(if $(filter-out cc gcc,$(CC)),-$(notdir $(CC)))
# The fuzzers need clang and both sanitizers; the unit tests under both share their objects.
ifeq ($(SAN),address,undefined)
override CC := clang
B      := build/address-undefined
FUZZED := $(comma)fuzzer-no-link
# What they find they tell with a stack of functions and lines, which needs no more than -g1.
CFLAGS ?= -O1 -g1
endif
CFLAGS ?= -O2 -g
TIME   ?= 60
CORES  := $(shell nproc)

PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share
DIST    ?= dist
PYTHON  ?= $(firstword $(wildcard /usr/bin/python3) python3)
at      := $(DESTDIR)

# Debian packages: group, package, a command that shows that it is there without
# asking dpkg (- if there is none), what it is for.
define PACKAGES
run    gcc                     gcc             compiler
run    libc6-dev               -               headers of the C library
run    pkg-config              pkg-config      finds the libraries
run    libjpeg-dev             -               decodes JPEG
run    libjansson-dev          -               JSON of results
run    liburing-dev            -               io_uring fetch engine
run    libxxhash-dev           -               digest of a data set
run    uthash-dev              -               hash table of a list's labels (header only)
run    libcurl4-openssl-dev    -               requests to buckets and web servers
run    libexpat1-dev           -               XML of a bucket's listing
run    libhwloc-dev            -               cores, caches, memory of the machine
run    libpfm4-dev             -               names of hardware counters
run    libsndfile1-dev         -               decodes audio
run    libkissfft-dev          -               spectra of audio
run    gnuplot-nox             gnuplot         plots of the report
wheel  patchelf                patchelf        libraries inside, found from inside
wheel  python3                 python3         writes the file
check  libcmocka-dev           -               unit tests
check  nettle-dev              -               SHA-256 of the tests' S3 server
check  perl                    prove           runs the tests
check  clang                   clang           second compiler
check  libclang-rt-dev         -               its sanitizers and fuzzer
check  lld                     ld.lld          links what has sanitizers
check  clang-format            clang-format    layout
check  clang-tidy              clang-tidy      static analysis
check  cppcheck                cppcheck        static analysis
check  pmccabe                 pmccabe         limit of complexity
check  shellcheck              shellcheck      scripts
check  mandoc                  mandoc          manual pages
check  bsdextrautils           col             manual pages as plain text
check  codespell               codespell       spelling
check  python3                 python3         reference results
check  python3-venv            -               environments to install a wheel in
check  python3-botocore        -               asks the tests' S3 server
check  python3-numpy           -               reference results, batches of dsa.py
check  python3-yaml            -               action.yml, read as GitHub reads it
check  python3-torch           -               batches of dsa.py, programs with a DataLoader
check  python3-torchvision     -               transforms; DataLoader, to compare with
check  python3-pil             -               Pillow: reference of the resampler
check  python3-prometheus-client -             reads OpenMetrics
check  libjemalloc2            -               allocators that programs preload,
check  libtcmalloc-minimal4    -               beside which libdsa-io.so works
check  libxml2-utils           xmllint         JUnit against its schema
check  cmark-gfm               cmark-gfm       Markdown as GitHub renders it
check  curl                    curl            asks a loader's socket
check  nginx-light             -               a web server, and TLS before a bucket
check  openssl                 openssl         its certificate
check  zsh                     zsh             completion
check  fish                    fish            completion
check  chromium                chromium        opens the report
check  nodejs                  node            axe, html-validate
check  npm                     npm             installs these from tests/web
bench  python3-opencv          -               to compare with
bench  stress-ng               stress-ng       loads the machine in the long form of busy.t
endef
export PACKAGES

LOADER_NEEDS := libjpeg liburing libxxhash
NEEDS        := $(LOADER_NEEDS) jansson hwloc
# Of a library beside libdsa alone.
AUDIO_NEEDS  := sndfile kissfft-float
NET_NEEDS    := libcurl expat
pkg-config    = $(shell pkg-config $1 2>/dev/null)

WARN  := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
         -Wpointer-arith -Wwrite-strings -Wcast-qual -Wundef -Wvla -Wformat=2 $(WERROR)
FLAGS := -std=c11 -D_GNU_SOURCE -DDSA_VERSION='"$(VERSION)"' -I. -Ibuild/include $(WARN) -fPIC \
         -fvisibility=hidden -pthread $(call pkg-config,--cflags $(NEEDS)) \
         $(if $(SAN),-fsanitize=$(SAN)$(FUZZED) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
         $(if $(findstring address,$(SAN)),-DBLOBS_ON_HEAP)
# What has sanitizers is linked in two thirds of the time by lld, where that is installed.
LLD   := $(if $(SAN),$(shell ! command -v ld.lld >/dev/null || echo -fuse-ld=lld))
LINK  := $(FLAGS) $(LLD) $(call pkg-config,--libs $(NEEDS)) -lm
CMOCKA_CFLAGS := $(call pkg-config,--cflags cmocka)
AUDIO_LIBS    := $(call pkg-config,--libs $(AUDIO_NEEDS))
CMOCKA_LIBS   := $(call pkg-config,--libs cmocka)
LOADER_LIBS   := $(call pkg-config,--libs $(LOADER_NEEDS)) -lm

source = $(sort $(shell find $1 -name '*.c' 2>/dev/null))
object = $(patsubst %.c,$(B)/%.o,$(call source,$1))
ROOMS    := loader profiler models reports
# What stands before the C library's own functions is in one library alone, and so is what
# programs that were linked with an older libdsa.so call.
LIBDSA_ALONE := $(B)/loader/loader_1.o
# So is what needs libraries of its own.
LIB      := $(filter-out $(B)/profiler/io/wrap/% $(B)/loader/net/curl/% $(LIBDSA_ALONE), \
	$(call object,$(ROOMS)))
# The library does without the shared loader's server, and without what loader/base/ holds
# for the rooms above it alone.
NOT_IN_LIBDSA := $(addprefix $(B)/loader/,base/math/% base/text/% base/clock_utc.o \
	share/server/% share/schedule/% share/wire/status.o share/ring/bcast_repeat.o \
	driver/serve_windows.o gpu/gpu_buffer.o audio/% net/curl/%)
LIBDSA   := $(filter-out $(NOT_IN_LIBDSA) $(LIBDSA_ALONE),$(call object,loader))
LIBIO    := $(call object,profiler/io profiler/hook) $(B)/profiler/io_page.o \
	$(filter-out %/serve_windows.o,$(call object,loader/driver)) \
	$(addprefix $(B)/loader/base/,clock.o error.o io.o trace.o trace_dsa.o \
	trace_slots.o host/process.o)
# What libraries need that a stranger opens, to tell the session what it does.
TELLS    := $(addprefix $(B)/loader/base/,clock.o error.o io.o trace.o host/process.o)
LIBAUDIO := $(call object,loader/audio) $(B)/loader/base/error.o
LIBNET   := $(call object,loader/net/curl) $(addprefix $(B)/loader/,net/net_url.o base/clock.o \
	base/error.o base/name.o base/number.o)
NET_LIBS := $(call pkg-config,--libs $(NET_NEEDS)) -lm
# The hook in Python, without which nothing is preloaded: no sanitizer comes first there.
HOOK     := $(if $(SAN),,$(patsubst profiler/python/%,$(B)/python/%,$(wildcard profiler/python/*.py)))
UNITS    := $(call source,tests/unit)
UNIT     := $(patsubst %_test.c,$(B)/test/%,$(notdir $(UNITS)))
# Unit tests whose program can start a thread, by those made without a sanitizer: that of threads
# sees nothing in others, which are not made.
THREADED := $(B:build/thread%=build/plain%)/threaded
SEEN     := $(or $(if $(filter thread,$(SAN)),$(filter $(UNIT),$(addprefix $(B)/test/,$(shell \
	cat $(THREADED) 2>/dev/null)))),$(UNIT))
FUZZ     := $(patsubst tests/fuzz/%_fuzz.c,$(B)/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))
BENCH    := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/*.c))
PRELOADS := $(addprefix $(B)/tests/tool/,io_early.so odd_reads.so)
# What plays a device's driver: tests put its folder on LD_LIBRARY_PATH.
FAKES    := $(B)/fake/libcuda.so.1 $(B)/fake/old/libcuda.so.1 $(B)/fake/unshared/libcuda.so.1
S3_SERVER := $(B)/tests/tool/s3_server
TOOLS    := $(filter-out $(PRELOADS:%.so=%) $(B)/tests/tool/fake% $(S3_SERVER),$(patsubst %.c,$(B)/%,$(wildcard tests/tool/*.c)))
# What plays CUPTI, a folder for each version.
FAKE_CUPTI := $(addprefix $(B)/fake/cupti/,11.8/libcupti.so.11.8 12/libcupti.so.12 \
	13/libcupti.so.13 lacking/libcupti.so.13)
EXAMPLES := $(B)/examples/train
SOURCES  := $(shell find cmd $(ROOMS) examples tests -name node_modules -prune -o \
	-name '*.[ch]' -print 2>/dev/null)
PYTHONS  := loader/python/dsa.py $(wildcard profiler/python/*.py examples/*.py packaging/*.py \
	tests/gpu/*.py)
SCRIPTS  := .ci/run $(wildcard tests/*.t tests/*/*.sh tests/*/run examples/*.sh)

# A recursive make that uses every core, unless the caller has decided already.
parallel = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(CORES))

all: $(B)/dsa $(B)/libdsa.so $(B)/libdsa.a $(B)/libdsa-io.so $(B)/libdsa-cupti.so \
	$(B)/libdsa-nccl.so $(B)/libdsa-audio.so $(B)/libdsa-net.so $(HOOK) $(EXAMPLES)

$(B)/dsa: $(call object,cmd) $(B)/libhouse.a
	@echo '  LD  $@'
	@$(CC) $(CFLAGS) -o $@ $^ $(LINK)

# Everything but cmd/, for dsa and the tests.
$(B)/libhouse.a: $(LIB)
	@echo '  AR  $@'
	@rm -f $@; $(AR) rcs $@ $^

$(B)/libdsa.so.$(ABI): $(LIBDSA) $(LIBDSA_ALONE) loader/libdsa.map
	@echo '  LD  $@'
	@$(CC) $(FLAGS) $(CFLAGS) -shared -Wl,-soname,$(@F) \
		-Wl,--version-script=loader/libdsa.map $(if $(SAN),,-Wl,-z,defs) \
		-o $@ $(filter %.o,$^) $(LOADER_LIBS)

$(B)/libdsa.so: $(B)/libdsa.so.$(ABI)
	@ln -sf $(<F) $@

# One object, whose inner names no program can collide with.
$(B)/libdsa.a: $(LIBDSA)
	@echo '  AR  $@'
	@$(LD) -r -o $(B)/libdsa.o $^
	@objcopy --localize-hidden $(B)/libdsa.o
	@rm -f $@; $(AR) rcs $@ $(B)/libdsa.o

# Preloaded into programs that bring their own loader: it is initialised before all else,
# so that no call finds it half made, and asks for nothing that they do not have.
$(B)/libdsa-io.so: $(LIBIO) profiler/io/libdsa-io.map
	@echo '  LD  $@'
	@$(CC) $(FLAGS) $(CFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,initfirst \
		-Wl,--version-script=profiler/io/libdsa-io.map $(if $(SAN),,-Wl,-z,defs) \
		-o $@ $(filter %.o,$^)

# Opened by the CUDA driver in programs that use a device, and by NCCL in those of several
# ranks; they stay for the program's exit.
$(B)/libdsa-cupti.so: $(call object,profiler/cupti)
$(B)/libdsa-nccl.so: $(call object,profiler/nccl)
$(B)/libdsa-cupti.so $(B)/libdsa-nccl.so: $(TELLS)
	@echo '  LD  $@'
	@$(CC) $(FLAGS) $(CFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete \
		$(if $(SAN),,-Wl,-z,defs) -o $@ $^

# Opened by libdsa when a data set is audio.
$(B)/libdsa-audio.so: $(LIBAUDIO)
	@echo '  LD  $@'
	@$(CC) $(FLAGS) $(CFLAGS) -shared -Wl,-soname,$(@F) $(if $(SAN),,-Wl,-z,defs) \
		-o $@ $^ $(AUDIO_LIBS) -lm

# Opened by libdsa and dsa when a data set is in a bucket or on a web server.
$(B)/libdsa-net.so: $(LIBNET)
	@echo '  LD  $@'
	@$(CC) $(FLAGS) $(CFLAGS) -shared -Wl,-soname,$(@F) $(if $(SAN),,-Wl,-z,defs) \
		-o $@ $^ $(NET_LIBS)

# Unit tests and tools that hold libdsa look beside themselves, as programs do.
NET_BESIDE := $(addsuffix /dsa/libdsa-net.so,$(B)/test $(B)/tests/tool $(B)/tests/bench)
$(NET_BESIDE): $(B)/libdsa-net.so
	@mkdir -p $(@D)
	@ln -sf $(CURDIR)/$< $@

$(B)/python/%.py: profiler/python/%.py
	@mkdir -p $(@D)
	@cp $< $@

# Examples include <dsa/loader.h>, as a program outside this tree does.
build/include/dsa/loader.h: loader/loader.h
	@mkdir -p $(@D)
	@ln -sf ../../../$< $@
$(call object,examples) $(B)/tests/installed.o: | build/include/dsa/loader.h

$(B)/examples/train: $(call object,examples) $(B)/libdsa.so
	@echo '  LD  $@'
	@$(CC) $(FLAGS) $(CFLAGS) -o $@ $(filter %.o,$^) -L$(B) -ldsa \
		-Wl,-rpath,'$$ORIGIN/..' -lm

# An archive: a test that plays a source of its own gets none of what opens real ones.
$(B)/libtests.a: $(call object,tests/lib)
	@echo '  AR  $@'
	@rm -f $@; $(AR) rcs $@ $^

# tests/unit mirrors the rooms; a test is run by its name alone. To lld a call that is wrapped
# is no reason to take what wraps it from an archive.
$(foreach test,$(UNITS),$(eval $(B)/test/$(notdir $(test:_test.c=)): $(B)/$(test:.c=.o)))
$(UNIT): $(B)/libtests.a $(B)/libhouse.a
	@mkdir -p $(@D)
	@echo '  LD  $@'
	@$(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(B)/libtests.a $(B)/libhouse.a $(B)/libtests.a \
		$(LINK) $(CMOCKA_LIBS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc \
		-Wl,-u,__wrap_malloc

# Those that ask for a thread somewhere, or for libraries that may.
ifeq ($(SAN),)
$(THREADED): $(UNIT)
	@nm -AD $^ | sed -nE 's,^.*/([^/]+):.* U (pthread_create|dlopen)(@.*)?$$,\1,p' | sort -u >$@
endif

$(B)/test/audio $(B)/fuzz/audio: private LINK += $(AUDIO_LIBS)
$(B)/fuzz/cupti: $(B)/tests/lib/cupti_buffer.o
$(B)/fuzz/tar: $(B)/tests/lib/tar_bytes.o
$(B)/fuzz/tar $(B)/fuzz/tfrecord: $(B)/tests/lib/memory_object.o
$(B)/fuzz/tar: private LINK += $(CMOCKA_LIBS)
$(B)/fuzz/page: $(B)/loader/net/curl/page.o
$(B)/fuzz/page: private LINK += -lexpat
$(B)/fuzz/verdict $(B)/test/net_verdict: $(B)/loader/net/curl/net_verdict.o
$(B)/fuzz/transfer_head $(B)/test/transfer_head: $(B)/loader/net/curl/transfer_head.o
$(addprefix $(B)/,fuzz/verdict test/net_verdict fuzz/transfer_head test/transfer_head): \
	private LINK += -lcurl
# One that does not fuzz reads the kept inputs alone.
$(B)/fuzz/%: $(B)/tests/fuzz/%_fuzz.o $(if $(FUZZED),,$(B)/tests/fuzz/replay.o) $(B)/libhouse.a
	@mkdir -p $(@D)
	@echo '  LD  $@'
	@$(CC) $(CFLAGS) $(if $(FUZZED),-fsanitize=fuzzer) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK)

# Programs that tests (tests/tool) and benchmarks (tests/bench) run.
$(BENCH) $(TOOLS) $(S3_SERVER): $(B)/tests/%: $(B)/tests/%.o $(B)/libhouse.a
	@echo '  LD  $@'
	@$(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK)

# What answers as S3 does; it checks signatures, which nothing else here does.
$(S3_SERVER): $(call object,tests/tool/s3) $(addprefix $(B)/tests/lib/,http_request.o sigv4.o)
$(S3_SERVER) $(B)/test/sigv4: private LINK += -lnettle

# What asks a GPU, with a kernel of its own.
GPU_TOOLS := $(addprefix $(B)/tests/tool/,gpu_batches gpu_mirror gpu_probe gpu_records gpu_step)
$(GPU_TOOLS): $(addprefix $(B)/tests/lib/,converted.o gpu_calls.o gpu_work.o)
$(B)/tests/lib/gpu_work.o: tests/lib/gpu_work.ptx

# What tests put before a program's libraries.
$(PRELOADS): %.so: %.o
	@echo '  LD  $@'
	@$(CC) $(FLAGS) $(CFLAGS) -shared -o $@ $<
$(B)/tests/tool/io_early.so: private FLAGS += -Wl,-z,initfirst

$(B)/fake/libcuda.so.1: $(call object,tests/tool/cuda) $(addprefix $(B)/tests/lib/,fake_device.o converted.o)
$(B)/fake/unshared/libcuda.so.1: $(filter-out %/fake_mirror.o,$(call object,tests/tool/cuda)) \
	$(addprefix $(B)/tests/lib/,fake_device.o converted.o)
$(B)/fake/old/libcuda.so.1: $(B)/tests/tool/fake_old_cuda.o
$(FAKES):
	@mkdir -p $(@D)
	@echo '  LD  $@'
	@$(CC) $(FLAGS) $(CFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^

$(B)/fake/cupti/11.8/%: private FLAGS += -DFAKE_CUPTI_VERSION=CUPTI_11_8 -DFAKE_CUPTI_OLD
$(B)/fake/cupti/12/%: private FLAGS += -DFAKE_CUPTI_VERSION=CUPTI_12_4 -DFAKE_CUPTI_OLD
$(B)/fake/cupti/lacking/%: private FLAGS += -DFAKE_CUPTI_LACKS
$(FAKE_CUPTI): tests/tool/fake_cupti.c $(B)/tests/lib/cupti_buffer.o $(wildcard tests/*/*cupti*.h) \
		profiler/cupti/cupti_api.h $(B)/flags
	@mkdir -p $(@D)
	@echo '  LD  $@'
	@$(CC) $(FLAGS) $(CFLAGS) -shared -Wl,-soname,$(@F) -o $@ $(filter %.c %.o,$^)

$(B)/tests/%.o: private FLAGS += $(CMOCKA_CFLAGS) $(if $(SAN),-DTRIALS_FEW)
# A fuzzer need not see what is compared where nothing is parsed: it takes most of the time.
UNPARSED := models/simulation/% models/cache/% models/gate/gate_statistics profiler/dataset/draw/% \
            loader/sampler/% loader/base/math/% tests/unit/%
$(UNPARSED:%=$(B)/%.o): private FLAGS += $(if $(FUZZED),-fno-sanitize-coverage=trace-cmp)
# Unit tests take longer to compile than to run, but for what they call.
$(B)/tests/unit/%.o: private CFLAGS += $(if $(SAN),-O0)
# Our declarations of the driver's calls are compared with its header, where there is one.
CUDA ?= /usr/local/cuda
$(B)/tests/unit/loader/gpu/cuda_test.o: private FLAGS += -isystem $(CUDA)/include
# Headers define no function there that a wrapper defines.
$(B)/profiler/io/wrap/%.o: private FLAGS += -U_FORTIFY_SOURCE -D__NO_INLINE__
$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo '  CC  $<'
	@$(CC) $(FLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/reports/html/html_style.o: reports/html/style.css
$(B)/loader/gpu/gpu_convert.o: loader/gpu/convert.ptx
$(B)/loader/audio/%.o: private FLAGS += $(call pkg-config,--cflags $(AUDIO_NEEDS))

# Everything is rebuilt when the flags change, and nothing when they do not.
define flags
$(CC) $(FLAGS) $(CFLAGS)
endef
export flags
$(B)/flags: FORCE
	@pkg-config --exists --print-errors $(NEEDS) $(AUDIO_NEEDS) $(NET_NEEDS) || \
		{ echo "make deps installs what is missing" >&2; exit 1; }
	@mkdir -p $(@D)
	@printf '%s\n' "$$flags" | cmp -s - $@ || printf '%s\n' "$$flags" >$@

# Installs the missing packages of these groups, or says how. Without dpkg the
# table above is the answer.
GROUPS_WANTED ?= run wheel check bench
deps:
	@command -v dpkg-query >/dev/null || exit 0; \
	missing=$$(printf '%s\n' "$$PACKAGES" | while read -r group package shows why; do \
		case ' $(GROUPS_WANTED) ' in *" $$group "*) ;; *) continue; esac; \
		[ "$$shows" != - ] && command -v "$$shows" >/dev/null && continue; \
		[ "$$(dpkg-query -W -f '$${db:Status-Status}' "$$package" 2>/dev/null)" = installed ] || \
			printf ' %s' "$$package"; \
	done); \
	[ -n "$$missing" ] || exit 0; \
	install="apt-get install -y --no-install-recommends$$missing"; \
	if [ "$$(id -u)" = 0 ]; then as=; \
	elif sudo -n true 2>/dev/null; then as=sudo; \
	else echo "missing packages; as root: apt-get update && $$install" >&2; exit 1; fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	echo "  installing$$missing"; \
	mkdir -p build; \
	{ $$as apt-get -q update && $$as $$install; } >build/deps.log 2>&1 </dev/null || \
		{ tail -20 build/deps.log >&2; echo "failed: $$install" >&2; exit 1; }

demo:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED=run
	@$(parallel) all
	@BUILD=$(B) examples/demo.sh

check:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED='run wheel check'
	$(if $(filter thread,$(SAN)),@$(parallel) SAN= $(THREADED))
	@$(parallel) all units $(if $(SAN),,headers) $(if $(filter thread,$(SAN)),,$(FUZZ))
	@BUILD=$(CURDIR)/$(B) SAN='$(SAN)' tests/run

units: $(SEEN) $(NET_BESIDE) $(TOOLS) $(S3_SERVER) $(PRELOADS) $(FAKES) $(FAKE_CUPTI)
	@:

ifeq ($(SAN),address,undefined)
fuzzers: $(FUZZ)
	@:
else
fuzzers:
	@$(MAKE) --no-print-directory SAN=address,undefined fuzzers
endif

# TIME seconds each, from the kept inputs; what is new stays in build/fuzz/found.
fuzz: fuzzers
	@FUZZ_TIME=$(TIME) tests/fuzz.t

# The long forms of scripts, of clang-tidy, and every fuzzer for FUZZ_TIME seconds (60): two
# hours at most.
soak:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED='run wheel check'
	@$(parallel) all units fuzzers
	@$(parallel) tidy SOAK=1
	@BUILD=$(CURDIR)/$(B) SOAK=1 tests/run

bench:
	@$(MAKE) --no-print-directory deps
	@$(parallel) all $(BENCH)
	@BUILD=$(B) tests/bench/run

bench-models:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED=run
	@$(parallel) all
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/models.py

bench-share:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED=run
	@$(parallel) all $(BENCH) $(TOOLS)
	@$(B)/tests/bench/handover
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/share.py
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/share_schedules.py
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/models.py --jobs

bench-advice:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED=run
	@$(parallel) all
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/advice.py

bench-io:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED=run
	@$(parallel) all $(TOOLS)
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/io_cost.py

bench-gate:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED=run
	@$(parallel) all $(TOOLS)
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/gate.py

bench-hooks:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED="run wheel check"
	@$(parallel) all $(TOOLS)
	@for t in hook loader_kinds launch watch transforms recipe wheel; do \
		echo "$$t.t" && SOAK=1 BUILD=$(CURDIR)/$(B) tests/$$t.t || exit 1; done
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/hooks.py

bench-bucket:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED='run check'
	@$(parallel) all $(TOOLS) $(S3_SERVER) $(B)/tests/bench/shard_rate
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/bucket.py $(SMALL:%=--small)
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/shards.py $(SMALL:%=--small)

bench-page:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED=run
	@$(parallel) all $(TOOLS)
	@BUILD=$(CURDIR)/$(B) /usr/bin/python3 tests/bench/page_cache.py

# Every header must compile by itself, as those do that a source includes before all else.
headers:
	@mkdir -p $(B)
	@awk 'FNR == 1 { before = 1 } before && /^#/ { before = 0; gsub("\"", ""); print $$2 }' \
		$(filter-out tests/bench/%,$(filter %.c,$(SOURCES))) >$(B)/first
	@for h in $$(find cmd $(ROOMS) -name '*.h' 2>/dev/null | grep -vxFf $(B)/first); do \
		printf '#include "%s"\nextern int header;\n' "$$h" | $(CC) $(FLAGS) -fsyntax-only -x c - || exit 1; done

# make -k lint shows the findings of all.
LINTS := format tidy cppcheck complexity names scripts manual spelling
lint: $(LINTS:%=lint-%)
	@:
lint-format:
	@clang-format --dry-run -Werror $(SOURCES)
lint-tidy:
	@$(parallel) tidy
lint-cppcheck:
	@mkdir -p build/cppcheck
	@cppcheck -q -j$(CORES) --std=c11 -D_GNU_SOURCE -DDSA_VERSION='"$(VERSION)"' -I. -Ibuild/include \
		--enable=warning,style,performance,portability --inline-suppr \
		--suppressions-list=tests/cppcheck --error-exitcode=1 \
		--cppcheck-build-dir=build/cppcheck $(filter %.c,$(SOURCES))
lint-complexity:
	@! pmccabe $(filter %.c,$(SOURCES)) 2>&1 | awk '$$1 > 25 || !/^[0-9]/' | grep .
lint-names:
	@tests/lib/names.py $(filter $(ROOMS:%=%/%) cmd/%,$(SOURCES))
lint-scripts:
	@shellcheck -s sh $(filter tests/cli/%.sh,$(SCRIPTS))
	@shellcheck $$(grep -lE '^#!/bin/(ba)?sh' $(SCRIPTS))
lint-manual:
	@mandoc -Tlint -Wwarning $(wildcard man/*.[1-9])
lint-spelling:
	@codespell -L nd $(SOURCES) $(SCRIPTS) $(PYTHONS) Makefile $(wildcard *.md man/*.[1-9])

# clang-tidy, again only where an object would be compiled again. TIDY_NODES bounds how far
# its analyzer follows a function. Of 180 copies of sources with one defect each it found the
# same 19 as by its default, which takes four times as long and which make soak sets.
TIDY_NODES := $(if $(SOAK),225000,20000)
TIDY := build/tidy$(if $(SOAK),-soak)
tidy: $(patsubst %.c,$(TIDY)/%.ok,$(filter %.c,$(SOURCES)))
$(TIDY)/%.ok: %.c $(B)/%.o .clang-tidy tests/.clang-tidy
	@mkdir -p $(@D)
	@echo '  TIDY  $<'
	@clang-tidy --quiet $< -- $(FLAGS) $(CMOCKA_CFLAGS) -Xclang -analyzer-config \
		-Xclang max-nodes=$(TIDY_NODES) 2>$@.err || { cat $@.err; exit 1; }
	@touch $@

install: all
	install -d $(at)$(PREFIX)/bin $(at)$(LIBDIR)/pkgconfig $(at)$(PREFIX)/include/dsa \
		$(at)$(DATADIR)/doc/dsa/examples/prices
	install $(B)/dsa $(at)$(PREFIX)/bin/dsa
	install -m 644 $(B)/libdsa.so.$(ABI) $(B)/libdsa.a $(at)$(LIBDIR)
	ln -sf libdsa.so.$(ABI) $(at)$(LIBDIR)/libdsa.so
	install -D -m 644 $(B)/libdsa-io.so $(at)$(PREFIX)/lib/dsa/libdsa-io.so
	install -m 644 $(B)/libdsa-cupti.so $(at)$(PREFIX)/lib/dsa/libdsa-cupti.so
	install -m 644 $(B)/libdsa-nccl.so $(at)$(PREFIX)/lib/dsa/libdsa-nccl.so
	install -m 644 $(B)/libdsa-audio.so $(at)$(PREFIX)/lib/dsa/libdsa-audio.so
	install -D -m 644 $(B)/libdsa-net.so $(at)$(LIBDIR)/dsa/libdsa-net.so
	[ '$(LIBDIR)' = '$(PREFIX)/lib' ] || \
		ln -sf '$(LIBDIR)/dsa/libdsa-net.so' $(at)$(PREFIX)/lib/dsa/libdsa-net.so
	install -d $(at)$(PREFIX)/lib/dsa/python
	install -m 644 profiler/python/*.py $(at)$(PREFIX)/lib/dsa/python
	-$(PYTHON) -m compileall -q -s '$(DESTDIR)' $(at)$(PREFIX)/lib/dsa/python
	install -m 644 loader/loader.h $(at)$(PREFIX)/include/dsa/loader.h
	install -D -m 644 loader/python/dsa.py $(at)$(PYTHONDIR)/dsa.py
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
		-e 's|@NEEDS@|$(LOADER_NEEDS)|' loader/dsa.pc.in >$(at)$(LIBDIR)/pkgconfig/dsa.pc
	for page in man/*.[1-9]; do \
		install -D -m 644 $$page $(at)$(DATADIR)/man/man$${page##*.}/$${page##*/} || exit; done
	install -m 644 README.md LICENSE $(at)$(DATADIR)/doc/dsa
	install -m 644 $(wildcard examples/*.[ch] examples/*.py) $(at)$(DATADIR)/doc/dsa/examples
	install -m 644 $(wildcard examples/prices/*.ini) $(at)$(DATADIR)/doc/dsa/examples/prices
	install -d $(dir $(COMPLETIONS:%=$(at)$(DATADIR)/%))
	$(B)/dsa completion bash >$(at)$(DATADIR)/$(word 1,$(COMPLETIONS))
	$(B)/dsa completion zsh >$(at)$(DATADIR)/$(word 2,$(COMPLETIONS))
	$(B)/dsa completion fish >$(at)$(DATADIR)/$(word 3,$(COMPLETIONS))
	@[ -n "$(at)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	@$(if $(filter /usr /usr/local,$(PREFIX)),,printf '%s\n' $(AWAY))

# What a PREFIX of one's own asks of the environment.
AWAY = 'The system does not look in $(PREFIX) by itself:' \
	'  to run dsa                export PATH=$(PREFIX)/bin:$$PATH' \
	'  to run programs in C      export LD_LIBRARY_PATH=$(LIBDIR)' \
	'  to build them             export PKG_CONFIG_PATH=$(LIBDIR)/pkgconfig' \
	'  to run those in Python    export PYTHONPATH=$(PYTHONDIR)' \
	'The Python of a virtual environment at $(PREFIX) does, and needs none of it.'

# Where that Python looks for modules below $(PREFIX).
PYTHONDIR ?= $(or $(shell $(PYTHON) -c 'import site; print(*site.getsitepackages(), \
	sep="\n")' 2>/dev/null | grep -m 1 '^$(PREFIX)/lib/'),$(PREFIX)/lib/python3/dist-packages)

COMPLETIONS := bash-completion/completions/dsa zsh/site-functions/_dsa \
               fish/vendor_completions.d/dsa.fish

uninstall:
	rm -f $(at)$(PREFIX)/bin/dsa $(at)$(LIBDIR)/libdsa.so $(at)$(LIBDIR)/libdsa.so.$(ABI) \
		$(at)$(LIBDIR)/libdsa.a $(at)$(LIBDIR)/pkgconfig/dsa.pc \
		$(at)$(PYTHONDIR)/dsa.py $(at)$(PYTHONDIR)/__pycache__/dsa.*.pyc \
		$(COMPLETIONS:%=$(at)$(DATADIR)/%)
	rm -rf $(at)$(PREFIX)/include/dsa $(at)$(PREFIX)/lib/dsa $(at)$(LIBDIR)/dsa \
		$(at)$(DATADIR)/doc/dsa
	for page in man/*.[1-9]; do \
		rm -f $(at)$(DATADIR)/man/man$${page##*.}/$${page##*/}; done

# Below PREFIX, PYTHONDIR and DATADIR lies then what a wheel holds, where it holds it.
wheel:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED='run wheel'
	@$(parallel) all
	@rm -rf $(DIST)/stage
	@mkdir -p $(DIST)
	@$(MAKE) -s --no-print-directory install DESTDIR=$(abspath $(DIST)/stage) PREFIX=/dsa_prefix \
		PYTHONDIR=/ DATADIR=/dsa-$(VERSION).data/data/share >/dev/null
	@rm -rf $(DIST)/stage/dsa_prefix/lib/dsa/python/__pycache__
	@$(PYTHON) packaging/wheel.py $(DIST)/stage $(VERSION) $(DIST)
	@rm -rf $(DIST)/stage

# All that tests/gpu/run needs beside a driver and Python, laid out as a source tree is, with
# the programs at its top.
BUNDLE := $(B)/gpu-bundle
gpu-bundle:
	@$(MAKE) --no-print-directory deps GROUPS_WANTED='run wheel'
	@$(parallel) all $(GPU_TOOLS)
	@rm -rf $(BUNDLE)
	@mkdir -p $(addprefix $(BUNDLE)/,examples loader python tests/gpu tests/lib tests/tool)
	@cp $(B)/dsa $(B)/libdsa.so.$(ABI) $(B)/libdsa-io.so $(B)/libdsa-cupti.so \
		$(B)/libdsa-nccl.so $(BUNDLE)
	@cp $(HOOK) $(BUNDLE)/python
	@cp -r --parents loader/python/dsa.py examples/train.py $(wildcard tests/gpu/run tests/gpu/*.py) \
		tests/lib/punctual.py tests/lib/gpu_work.ptx loader/gpu/convert.ptx $(BUNDLE)
	@cp $(B)/examples/train $(BUNDLE)/examples
	@cp $(GPU_TOOLS) $(BUNDLE)/tests/tool
	@git describe --always --dirty >$(BUNDLE)/commit 2>/dev/null || :
	@$(PYTHON) packaging/bundled.py $(BUNDLE) bundled
	@echo '  BUNDLE  $(BUNDLE)'

clean:
	rm -rf build dist

FORCE:
.PHONY: all bench bench-advice bench-bucket bench-gate bench-hooks bench-io bench-models bench-page bench-share check clean demo deps fuzz fuzzers \
        gpu-bundle headers install lint $(LINTS:%=lint-%) soak tidy uninstall units wheel FORCE
# Kept, though only a chain of rules names them. All others are rebuilt when they are missing.
.SECONDARY: $(FOURTH)/profiler/stage.h $(FOURTH)/loader/base/trace.h $(patsubst %.c,$(B)/%.o,$(filter examples/%.c tests/%.c,$(SOURCES)))
-include $(shell find $(B) -name '*.d' 2>/dev/null)
