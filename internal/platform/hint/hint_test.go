package hint_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

func TestAReasonHasAHint(t *testing.T) {
	t.Parallel()
	require.Equal(t, "renew the credentials in the access Secret", hint.For("UnreachableUnauthorized"))
	require.Empty(t, hint.For("Ready"), "nothing needs to be done")
	require.Empty(t, hint.For("Unheard"))
	require.Equal(t, "did you mean keda?", hint.Or("did you mean keda?", "ModuleNotFound"))
	require.Equal(t, hint.For("ModuleNotFound"), hint.Or("", "ModuleNotFound"))
}

func TestNoHintIsGivenIfNobodyHasToAct(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, section := range hint.Sections() {
		for _, r := range section.Reasons {
			texts[r.Name] = r.Do
			require.NotRegexp(t, "^nothing|`|\\]\\(", hint.For(r.Name), r.Name)
		}
	}
	require.Regexp(t, "^nothing:", texts["Conflict"])
	require.Empty(t, hint.For("Conflict"))
	for name, do := range texts {
		if remedy, found := strings.CutPrefix(do, "nothing; "); found {
			require.NotEmpty(t, remedy)
			require.NotEmpty(t, hint.For(name), name)
		}
	}
}

// recorded holds the messages and hints of Events.
type recorded []string

func (r *recorded) Event(_ runtime.Object, _, _, message string) { *r = append(*r, message) }

func (r *recorded) AnnotatedEventf(_ runtime.Object, annotations map[string]string, _, _, format string, args ...any) {
	*r = append(*r, fmt.Sprintf(format, args...), annotations[shared.AnnotationHint])
}

func TestTheSizeOfAnEventIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("größer \n", 10_000)
	var texts recorded
	hint.Record(&texts, nil, "Warning", "Reason", long, "")
	hint.Record(&texts, nil, "Warning", "Reason", long, long)
	require.Len(t, texts, 3)
	for _, text := range texts {
		require.LessOrEqual(t, len(text), fault.MaxMessage)
		require.True(t, utf8.ValidString(text))
		require.True(t, strings.HasSuffix(text, "…"))
		require.NotContains(t, text, "\n")
	}
}
