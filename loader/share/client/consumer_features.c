/* consumer_features.c - which features of records a shared loader reads. */
#include "loader/share/client/consumer_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void consumer_set_features(const char *features, struct options *options)
{
	const char *comma = strstr(features, ", ");
	size_t length = comma != NULL ? (size_t)(comma - features) : strlen(features);

	if (features[0] == '\0')
		return;
	snprintf(options->image_feature, sizeof(options->image_feature), "%.*s",
		 (int)length, features);
	snprintf(options->label_feature, sizeof(options->label_feature), "%.255s",
		 comma != NULL ? comma + 2 : "");
}

/* What the program names, and the shared loader does not read. */
int consumer_check_features(const struct consumer *consumer, struct error *err)
{
	const struct options *wanted = consumer->config.options;
	struct options read = *wanted;

	consumer_set_features(consumer->features, &read);
	if ((wanted->image_feature[0] == '\0' ||
	     strcmp(wanted->image_feature, read.image_feature) == 0) &&
	    (wanted->label_feature[0] == '\0' ||
	     strcmp(wanted->label_feature, read.label_feature) == 0))
		return 0;
	return error_set(err, EINVAL,
			 "DSA_SHARE: the shared loader reads the features '%.60s' of "
			 "records, this program wants '%.30s%s%.30s': start dsa serve "
			 "with DSA_LOADER=image_feature=NAME,label_feature=NAME",
			 consumer->features, wanted->image_feature,
			 wanted->image_feature[0] != '\0' &&
					 wanted->label_feature[0] != '\0'
				 ? ", "
				 : "",
			 wanted->label_feature);
}
