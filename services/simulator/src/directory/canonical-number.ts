const BRAZILIAN_MOBILE = /^55([1-9]\d)9?([6-9]\d{7})$/;
/** Areas up to here got the ninth digit before their people joined. */
const LAST_AREA_WITH_NINE = 28;

/**
 * The number under which the messenger knows a person. Brazil put a 9 before its mobile numbers; people in areas above
 * 28 are still known without it, the others only with it, and a look-up finds them by either form.
 */
export function canonicalNumber(number: string): string {
  const match = BRAZILIAN_MOBILE.exec(number);
  if (!match) return number;
  const [, area = '', rest = ''] = match;
  return Number(area) <= LAST_AREA_WITH_NINE ? `55${area}9${rest}` : `55${area}${rest}`;
}
