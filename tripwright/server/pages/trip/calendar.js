// A plan as a calendar file (RFC 5545). Its times have no zone: calendars show them as they are, local to each place.

const escaped = (text) => text.replace(/[\\;,]/g, "\\$&").replace(/\r?\n/g, "\\n");
const folded = (line) => [...line].reduce(([done, last], sign) => (new TextEncoder().encode(last + sign).length > 74 ? [done + last + "\r\n", ` ${sign}`] : [done, last + sign]), ["", ""]).join("");
const stamp = (moment) => `${moment.slice(0, 16).replace(/[-:]/g, "")}00`;

export function calendarOf(trip) {
  const items = trip.view.parts.flatMap((part) => part.items.map((item) => [part, item])).filter(([, item]) => item.starts?.includes("T") && !item.alternative);
  const events = items.flatMap(([part, item], number) => [
    "BEGIN:VEVENT", `UID:${trip.id}-${number}@tripwright`, `DTSTAMP:${stamp(trip.created_at)}Z`, `DTSTART:${stamp(item.starts)}`,
    item.ends ? `DTEND:${stamp(item.ends)}` : "DURATION:PT30M",
    `SUMMARY:${escaped(`${item.label}: ${item.text}`)}`, `DESCRIPTION:${escaped([part.where, ...item.facts.map((fact) => fact.join(": "))].join("\n"))}`, "END:VEVENT"]);
  return ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tripwright//trip//EN", ...events, "END:VCALENDAR", ""].map(folded).join("\r\n");
}

export function download(trip) {
  const link = el("a", {href: URL.createObjectURL(new Blob([calendarOf(trip)], {type: "text/calendar"})), download: "trip.ics"});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
