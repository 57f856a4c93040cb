/**
 * What each check of the level `interface` stands on: a clause of SPEC.md, or what every client
 * relies on although no clause says it, such as a list that leaves out no pet.
 */

/** The clauses, each with the ids of its checks. A check may test several. */
const CHECKS_OF_CLAUSE: Readonly<Record<string, readonly string[]>> = {
  'S1.2': ['4/json'],
  'S1.3': ['9/base-address'],
  'S2.1': ['2/status-values', '2/status-others'],
  'S2.2': ['4.2/any-order'],
  'S2.2.1': ['2/name-required', '2/name-type'],
  'S2.2.2': [
    ...['2/category-required', '2/category-type', '2/category-beyond', '2/category-zero'],
    ...['2/category-negative', '2/category-32-bits', '2/category-53-bits', '2/category-64-bits'],
  ],
  'S2.2.3': ['2/status-optional', '2/status-type'],
  'S2.3': ['2/pet-fields'],
  'S2.3.1': ['2/id-unique', '2/id-concurrent', '2/id-own'],
  'S2.3.2': ['2/pet-carries'],
  'S2.4': ['2/pets-array'],
  'S2.5': ['2/error-fields'],
  'S2.5.1': ['2/error-fields'],
  'S2.5.2': ['2/error-fields'],
  'S2.5.3': ['2/error-fields'],
  'S3.1': ['2/status-values'],
  'S3.2': ['3/status-set'],
  'S3.3': ['3/status-filter'],
  'S4.0': ['4/json', '5/required'],
  'S4.1.2': ['4.1/limit', '4.1/limit-minimum', '4.1/limit-maximum', '4.1/limit-default'],
  'S4.1.3': ['4.1/filter', '4.1/filter-limit'],
  'S4.1.4': ['4.1/list', '4.1/empty'],
  'S4.1.5': ['4.1/unauthorized'],
  'S4.2.1': ['4.2/body-required', '4.2/any-order', '4.2/once', '4.2/stays'],
  'S4.2.2': ['4.2/created', '4.2/pet'],
  'S4.2.3': ['4.2/missing', '4.2/invalid', '4.2/no-number'],
  'S4.2.4': ['4.2/unauthorized'],
  'S4.3.1': ['4.3/found'],
  'S4.3.2': ['4.3/found'],
  'S4.3.3': ['4.3/unauthorized'],
  'S4.3.4': ['4.3/not-found'],
  'S4.3.5': ['4.3/replacement', '9/removal'],
  'S5.1': ['5/required'],
  'S5.2': ['5/form'],
  'S5.3': ['5/invalid', '5/key-case'],
  'S7.1': ['4/error-json', '7/error', '7/error-not-listed', '7/error-elsewhere'],
  'S7.2': ['7/status'],
  'S7.3': ['7/status'],
  'S7.4': ['7/status'],
  'S8.1': ['8/limit', '8/default', '8/never-more'],
  'S9.1': ['9/base-address'],
  'S9.3': ['9/until-removal'],
  'what every client relies on': [
    ...['2/name-spaces', '2/name-lines', '2/name-unicode', '2/name-markup', '2/name-escapes'],
    ...['2/name-plane', '2/name-case', '2/name-number', '2/name-300', '2/name-1000'],
    ...['2/status-null', '4.1/complete', '4.1/once', '4.1/pages', '4.1/pages-address'],
    ...['4.1/pages-filter', '4.2/charset', '4.2/location', '4.2/unreadable', '4.2/not-added'],
    ...['4.3/no-id', '4.3/whole-id', '2/name-empty', '4/decoded', '4/rest', '4.2/in-chunks'],
    ...['4.1/limit-any', '4.1/status-any', '4.1/other-any', '4.2/name-any', '4.2/category-any'],
    ...['4.2/status-any', '4.2/id-any', '4.2/other-any', '4.2/type-any', '4.2/accept-any'],
    ...['4.2/retry-any', '5/any'],
  ],
};

/** Returns the clauses of a check, in their order; for one of another level `''`. */
export function clausesOf(id: string): string {
  const named = Object.entries(CHECKS_OF_CLAUSE).filter(([, ids]) => ids.includes(id));
  return named.map(([clause]) => clause).join(', ');
}
