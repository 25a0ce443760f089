/* Prints how many enter and leave events a reader of the OTF2 library sees that knows nothing of calling contexts. */
#include <otf2/otf2.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                              \
    do {                                                                         \
        OTF2_ErrorCode code = (call);                                            \
        if (code != OTF2_SUCCESS) {                                              \
            fprintf(stderr, "%s: %s\n", #call, OTF2_Error_GetDescription(code)); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

static uint64_t entered, left;
static uint64_t locations[1024];
static int location_count;

static OTF2_CallbackCode enter(OTF2_LocationRef l, OTF2_TimeStamp t, void *u, OTF2_AttributeList *a, OTF2_RegionRef region)
{
    entered++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode leave(OTF2_LocationRef l, OTF2_TimeStamp t, void *u, OTF2_AttributeList *a, OTF2_RegionRef region)
{
    left++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode location(void *u, OTF2_LocationRef self, OTF2_StringRef n, OTF2_LocationType t, uint64_t e, OTF2_LocationGroupRef g)
{
    locations[location_count++] = self;
    return OTF2_CALLBACK_SUCCESS;
}

int main(int argc, char **argv)
{
    OTF2_Reader *reader = OTF2_Reader_Open(argv[1]);
    CHECK(OTF2_Reader_SetSerialCollectiveCallbacks(reader));
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *on_definition = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(on_definition, location);
    CHECK(OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, on_definition, NULL));
    uint64_t read;
    CHECK(OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read));
    for (int i = 0; i < location_count; i++)
        CHECK(OTF2_Reader_SelectLocation(reader, locations[i]));
    CHECK(OTF2_Reader_OpenDefFiles(reader));
    CHECK(OTF2_Reader_OpenEvtFiles(reader));
    for (int i = 0; i < location_count; i++) {
        OTF2_DefReader *local = OTF2_Reader_GetDefReader(reader, locations[i]);
        CHECK(OTF2_Reader_ReadAllLocalDefinitions(reader, local, &read));
        CHECK(OTF2_Reader_CloseDefReader(reader, local));
        OTF2_Reader_GetEvtReader(reader, locations[i]);
    }
    CHECK(OTF2_Reader_CloseDefFiles(reader));
    OTF2_GlobalEvtReader *events = OTF2_Reader_GetGlobalEvtReader(reader);
    OTF2_GlobalEvtReaderCallbacks *on_event = OTF2_GlobalEvtReaderCallbacks_New();
    OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(on_event, enter);
    OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(on_event, leave);
    CHECK(OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, on_event, NULL));
    CHECK(OTF2_Reader_ReadAllGlobalEvents(reader, events, &read));
    printf("%" PRIu64 " %" PRIu64 "\n", entered, left);
    return 0;
}
